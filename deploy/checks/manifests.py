"""What the schema cannot tell of a manifest: that its parts fit together, that Pods ask for no rights (what the Pod
Security Standard "restricted" requires, and more), and that the abide.toml inside says what abide knows."""

import re
import sys

import yaml

try:
    import tomllib
except ModuleNotFoundError:
    tomllib = None

KEYS = {
    "listen", "client_token_file", "allow_from", "allow_unlisted", "drain", "leave", "access_log", "log_format",
    "log_sample", "threads", "admin_listen",
}
VOLUMES = {"configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim", "projected", "secret"}
UNITS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600}


def seconds(text):
    return sum(float(n) * UNITS[unit] for n, unit in re.findall(r"([\d.]+)\s*(ms|s|m|h)", text))


def within(selector, labels):
    """Whether a selector that is not empty selects these labels."""
    wanted = selector.get("matchLabels", selector)
    return bool(wanted) and wanted.items() <= labels.items()


def container(c, volumes):
    rights = c.get("securityContext", {})
    yield rights.get("allowPrivilegeEscalation") is False, "allowPrivilegeEscalation is not false"
    yield rights.get("readOnlyRootFilesystem") is True, "readOnlyRootFilesystem is not true"
    yield not rights.get("privileged"), "privileged"
    yield rights.get("capabilities", {}).get("drop") == ["ALL"], "capabilities are not dropped"
    yield not rights.get("capabilities", {}).get("add"), "capabilities are added"
    yield rights.get("runAsNonRoot") is not False and rights.get("runAsUser") != 0, "runs as root"
    asked = c.get("resources", {})
    yield {"cpu", "memory"} <= asked.get("requests", {}).keys(), "asks for no cpu or memory"
    yield "memory" in asked.get("limits", {}), "has no limit of memory"
    last = c["image"].rsplit("/", 1)[-1]
    yield ":" in last and not last.endswith(":latest"), f"image {c['image']} has no version"
    for mount in c.get("volumeMounts", []):
        yield mount["name"] in volumes, f"mounts {mount['name']}, which is no volume of the Pod"
        yield "subPath" not in mount, f"mounts {mount['name']} by subPath: it would never change"
    named = {p["name"] for p in c.get("ports", []) if "name" in p}
    for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
        port = c.get(probe, {}).get("httpGet", {}).get("port")
        yield not isinstance(port, str) or port in named, f"{probe} asks port {port}, which has no such name"


def pod(spec, there, grace):
    yield spec.get("automountServiceAccountToken") is False, "has a token of Kubernetes"
    yield spec.get("enableServiceLinks") is False, "is given variables of Services (ABIDE_PORT …)"
    for shared in ("hostNetwork", "hostPID", "hostIPC"):
        yield not spec.get(shared), shared
    rights = spec.get("securityContext", {})
    yield rights.get("runAsNonRoot") is True, "runAsNonRoot is not true"
    yield rights.get("runAsUser", 0) > 0, "runAsUser is not a number above 0"
    yield rights.get("seccompProfile", {}).get("type") == "RuntimeDefault", "seccompProfile is not RuntimeDefault"
    volumes = {v["name"]: v for v in spec.get("volumes", [])}
    for name, volume in volumes.items():
        kinds = volume.keys() - {"name"}
        yield kinds <= VOLUMES, f"volume {name} is a {', '.join(kinds)}"
        config = volume.get("configMap", {}).get("name")
        yield config is None or ("ConfigMap", config) in there, f"there is no ConfigMap {config}"
        claim = volume.get("persistentVolumeClaim", {}).get("claimName")
        yield claim is None or ("PersistentVolumeClaim", claim) in there, f"there is no PersistentVolumeClaim {claim}"
    allowed = spec.get("terminationGracePeriodSeconds", 30)
    yield allowed > grace, f"is killed before leave and drain ({grace:g} s) are over"
    for c in spec.get("initContainers", []) + spec["containers"]:
        for fine, fault in container(c, volumes):
            yield fine, f"container {c['name']}: {fault}"


def config(text):
    """The settings in an abide.toml, and what is wrong with it."""
    try:
        told = tomllib.loads(text).get("gateway", {})
    except tomllib.TOMLDecodeError as e:
        return {}, [str(e)]
    return told, [f"[gateway] has no key {key}" for key in told if key not in KEYS]


def faults(docs):
    there = {(d["kind"], d["metadata"]["name"]): d for d in docs}
    templates = [d["spec"]["template"] for d in docs if d["kind"] == "Deployment"]
    grace = 0
    for (kind, name), d in there.items():
        spec, fine = d.get("spec", {}), []
        if kind == "ConfigMap" and tomllib:
            told, wrong = config(d["data"]["abide.toml"])
            grace = max(grace, seconds(told.get("leave", "0s")) + seconds(told.get("drain", "20s")))
            fine = [(False, w) for w in wrong]
        elif kind == "Deployment":
            template = spec["template"]
            fine = [(within(spec["selector"], template["metadata"]["labels"]), "selects none of its own Pods")]
            fine += pod(template["spec"], there, grace)
        elif kind in ("Service", "PodDisruptionBudget", "NetworkPolicy"):
            selector = spec["podSelector" if kind == "NetworkPolicy" else "selector"]
            chosen = [t for t in templates if within(selector, t["metadata"]["labels"])]
            ports = [p for t in chosen for c in t["spec"]["containers"] for p in c.get("ports", [])]
            fine = [(chosen, "selects no Pod")]
            if kind == "Service":
                names = {p.get("name") for p in ports}
                fine += [(p["targetPort"] in names, f"port {p['port']} leads nowhere") for p in spec["ports"]]
            elif kind == "NetworkPolicy":
                numbers = {p["containerPort"] for p in ports}
                opened = [p["port"] for rule in spec["ingress"] for p in rule["ports"]]
                fine += [(p in numbers, f"lets port {p} in, where nobody listens") for p in opened]
        yield from (f"{kind} {name}: {fault}" for ok, fault in fine if not ok)


failed = False
for path in sys.argv[1:]:
    with open(path, encoding="utf-8") as f:
        for fault in faults([d for d in yaml.safe_load_all(f) if d]):
            failed = True
            print(f"{path}: {fault}")
if not tomllib:
    print("skipped: the abide.toml inside (needs Python 3.11)")
sys.exit(failed)

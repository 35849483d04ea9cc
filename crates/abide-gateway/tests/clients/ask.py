"""Asks a URL by one of Python's HTTP clients and tells on its last line what it saw.

ask.py CLIENT get|post|retry|events URL
"""

import asyncio
import json
import sys

client, does, url = sys.argv[1:]
BODY = {"a": 1}
statuses = []


def by_urllib():
    import urllib.request

    data = json.dumps(BODY).encode() if does == "post" else None
    with urllib.request.urlopen(urllib.request.Request(url, data=data)) as answer:
        statuses.append(answer.status)
        return answer.read().decode()


def by_urllib3():
    import urllib3

    class Told(urllib3.Retry):
        """Counts what its retry layer was answered before it asked again."""

        def increment(self, method=None, url=None, response=None, *args, **kwargs):
            statuses.append(response.status if response is not None else 0)
            return super().increment(method, url, response, *args, **kwargs)

    retry = Told(total=5, status_forcelist=[429, 503], respect_retry_after_header=True, backoff_factor=0)
    pool = urllib3.PoolManager(retries=retry if does == "retry" else False)
    body = json.dumps(BODY).encode() if does == "post" else None
    answer = pool.request("POST" if body else "GET", url, body=body)
    statuses.append(answer.status)
    return answer.data.decode()


def by_requests():
    import requests

    answer = requests.post(url, data=json.dumps(BODY)) if does == "post" else requests.get(url)
    statuses.append(answer.status_code)
    return answer.text


def by_httpx():
    import httpx

    if does == "events":
        with httpx.stream("GET", url) as answer:
            statuses.append(answer.status_code)
            for line in answer.iter_lines():
                return line
    answer = httpx.post(url, content=json.dumps(BODY)) if does == "post" else httpx.get(url)
    statuses.append(answer.status_code)
    return answer.text


def by_aiohttp():
    import aiohttp

    async def ask():
        async with aiohttp.ClientSession() as session:
            data = json.dumps(BODY) if does == "post" else None
            async with session.request("POST" if data else "GET", url, data=data) as answer:
                statuses.append(answer.status)
                return await answer.text()

    return asyncio.run(ask())


body = globals()[f"by_{client}"]()
print(json.dumps({"statuses": statuses, "body": body}))

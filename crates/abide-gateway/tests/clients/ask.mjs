// Asks a URL by one of JavaScript's HTTP clients and tells on its last line what it saw.
//
// ask.mjs CLIENT get|post|retry URL
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const [client, does, url] = process.argv.slice(2);
const body = '{"a": 1}';
const statuses = [];

const by = {
  async fetch() {
    const answer = await fetch(url, does === 'post' ? { method: 'POST', body } : {});
    statuses.push(answer.status);
    return answer.text();
  },
  async got() {
    const require = createRequire(`${process.env.ABIDE_CLIENTS}/package.json`);
    const { default: got } = await import(pathToFileURL(require.resolve('got')));
    const answer = await got(url, {
      ...(does === 'post' ? { method: 'POST', body } : {}),
      retry: { limit: does === 'retry' ? 5 : 0 },
      hooks: { beforeRetry: [(error) => statuses.push(error.response?.statusCode ?? 0)] },
    });
    statuses.push(answer.statusCode);
    return answer.body;
  },
};

console.log(JSON.stringify({ statuses, body: await by[client]() }));

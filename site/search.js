// What the search of the built site answers: node site/search.js SITE, with a query in each line of the standard input; for each a line of
// JSON with the places found, the best first. It runs the theme's own worker, on the index as a browser would.
const fs = require('fs');
const path = require('path');
const readline = require('readline');
const vm = require('vm');

const scripts = path.join(process.argv[2], 'assets/javascripts');
const workers = path.join(scripts, 'workers');
const worker = fs.readdirSync(workers).find((name) => /^search\..*\.min\.js$/.test(name));
const listeners = [];
let answered = () => {};
const scope = vm.createContext({
  console,
  setTimeout,
  addEventListener: (_, listener) => listeners.push(listener),
  postMessage: (message) => answered(message),
  importScripts: (...names) => names.forEach((name) => load(path.join(workers, name))),
});
scope.self = scope;

function load(file) {
  vm.runInContext(fs.readFileSync(file, 'utf8'), scope, { filename: path.basename(file) });
}

const ask = (message) => new Promise((resolve) => {
  answered = resolve;
  listeners.forEach((listener) => listener({ data: message }));
});

async function main() {
  load(path.join(workers, worker));
  const index = JSON.parse(fs.readFileSync(path.join(process.argv[2], 'search/search_index.json')));
  await ask({ type: 0, data: { ...index, options: {} } });
  for await (const query of readline.createInterface({ input: process.stdin })) {
    const { data } = await ask({ type: 2, data: query });
    console.log(JSON.stringify(data.items.map((page) => page[0].location)));
  }
}

main();

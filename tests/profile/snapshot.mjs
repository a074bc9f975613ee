// Has two programs of others read a heap snapshot, and prints what they say of it, as snapshot.pl does:
//     node snapshot.mjs FOLDER-OF-PACKAGES FILE
import {createReadStream} from 'node:fs';
import {createRequire} from 'node:module';
import {pathToFileURL} from 'node:url';

const [folder, path] = process.argv.slice(2);
const require = createRequire(folder + '/');

const toolkit = await import(pathToFileURL(require.resolve('heap-snapshot-toolkit')));
const snapshot = await toolkit.parse(createReadStream(path, 'utf-8'));
console.log('devtools total', snapshot.getStatistics().total);
for (const group of Object.values(snapshot.getAggregatesByClassKey(false, 'allObjects')))
    console.log('devtools type', group.name, group.count, group.self, group.maxRet);

const heap = await require('@memlab/heap-analysis').getFullHeapFromFile(path);
const counts = new Map();
heap.nodes.forEach(node => {
    if (node.type === 'synthetic') return;
    const known = counts.get(node.name) ?? [0, 0];
    counts.set(node.name, [known[0] + 1, known[1] + node.self_size]);
});
for (const [name, [count, size]] of counts) console.log('memlab type', name, count, size);

// Opens profiles in a headless Chromium, as a reader of profiles would, and reports in TAP; or makes a picture of one.
//     node browser.mjs FOLDER-OF-PACKAGES CHROMIUM FILE...
//     node browser.mjs FOLDER-OF-PACKAGES CHROMIUM --picture FILE PNG WIDTH HEIGHT [light|dark] [SELECTOR] [HASH]
import {createRequire} from 'node:module';
import {pathToFileURL} from 'node:url';
import path from 'node:path';

const [folder, chromium, ...rest] = process.argv.slice(2);
const require = createRequire(folder + '/');
const puppeteer = (await import(pathToFileURL(require.resolve('puppeteer-core')))).default;
const browser = await puppeteer.launch({executablePath: chromium, args: ['--no-sandbox', '--disable-gpu', '--force-color-profile=srgb']});
let count = 0, failures = 0;
const errors = [];

function ok(holds, name) {
    count++;
    if (!holds) failures++;
    console.log(`${holds ? 'ok' : 'not ok'} ${count} - ${name}`);
}
async function open(file, hash, width = 1280, height = 900, scheme = 'light') {
    const page = await browser.newPage();
    await page.setViewport({width, height});
    await page.emulateMediaFeatures([{name: 'prefers-color-scheme', value: scheme}]);
    page.on('pageerror', error => errors.push(String(error)));
    page.on('console', message => { if (message.type() === 'error') errors.push(message.text()); });
    page.on('request', request => { if (!/^(file|data|blob):/.test(request.url())) errors.push('asks for ' + request.url()); });
    await page.goto(pathToFileURL(path.resolve(file)) + (hash || ''), {waitUntil: 'load'});
    await new Promise(done => setTimeout(done, 200));
    return page;
}

async function svg(file) {
    const page = await open(file);
    const look = () => page.evaluate(() => ({
        texts: frames.filter(f => f.t.textContent).length, shown: frames.filter(f => f.g.style.display !== 'none').length,
        faded: frames.filter(f => f.g.style.opacity === '0.5').length, hits: document.querySelectorAll('rect.hit').length,
        matched: document.getElementById('matched0').textContent, hash: location.hash,
        reset: document.getElementById('reset').style.display !== 'none'}));
    const before = await look();
    ok(before.texts > 2 && before.faded === 0 && !before.reset, `${file}: frames with their names`);
    const some = await page.evaluate(() => {
        const f = graphs[0].frames.filter(f => f.w < 1179 && f.w > 50 && f.y < 800).sort((a, b) => b.y - a.y)[0];
        const box = f.r.getBoundingClientRect();
        return {x: box.x + box.width / 2, y: box.y + box.height / 2, name: f.name, w: f.w};
    });
    await page.mouse.move(some.x, some.y);
    const details = await page.evaluate(() => document.getElementById('details').textContent);
    ok(details.startsWith(some.name + ' ('), `${file}: the frame under the mouse is described`);
    await page.mouse.click(some.x, some.y);
    const zoomed = await look();
    ok(zoomed.faded > 0 && zoomed.shown < before.shown && zoomed.reset && /x=/.test(zoomed.hash), `${file}: a click zooms`);
    const again = await open(file, zoomed.hash);
    const same = await again.evaluate(() => frames.filter(f => f.g.style.opacity === '0.5').length);
    ok(same === zoomed.faded, `${file}: the address holds the zoom`);
    await page.keyboard.press('Escape');
    const back = await look();
    ok(back.faded === 0 && back.shown === before.shown && !back.reset, `${file}: Escape resets it`);
    await page.evaluate(name => search('^' + name.replace(/[^\w]/g, '.') + '$'), some.name);
    const found = await look();
    ok(found.hits > 0 && /^Matched: \d+\.\d%$/.test(found.matched), `${file}: a search says how much it matches: ${found.matched}`);
    await page.evaluate(() => search('.*'));
    ok((await look()).matched === 'Matched: 100.0%', `${file}: frames within frames are counted once`);
    await page.evaluate(() => search('('));
    ok((await look()).hits === 0, `${file}: a broken expression matches nothing`);
    await page.close();
}

async function html(file) {
    const page = await open(file);
    const look = () => page.evaluate(() => ({
        rects: rects.length, faded: rects.filter(r => r.faded).length, zoomed: zoomed.name, total: root.value,
        matched: document.getElementById('matched').textContent, rows: document.querySelectorAll('#rows tr').length,
        hash: location.hash, canvas: ['flames', 'pauses', 'heap'].map(id => {
            const c = document.getElementById(id), d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;
            let drawn = 0;
            for (let i = 3; i < d.length; i += 4) if (d[i]) drawn++;
            return drawn;
        })}));
    const before = await look();
    ok(before.canvas.every(drawn => drawn > 200), `${file}: all pictures are drawn`);
    ok(before.rows > 0 && before.zoomed === 'all', `${file}: the table has rows`);
    const some = await page.evaluate(() => {
        const box = $('flames').getBoundingClientRect();
        const r = rects.filter(r => r.n !== root && r.w > 40 && r.w < 1100 && box.y + r.y < 800).sort((a, b) => b.y - a.y)[0];
        return {x: box.x + r.x + r.w / 2, y: box.y + r.y + 8, name: r.n.name};
    });
    await page.mouse.move(some.x, some.y);
    const details = await page.evaluate(() => $('details').textContent);
    ok(details.startsWith(some.name + ' ('), `${file}: the frame under the mouse is described`);
    await page.mouse.click(some.x, some.y);
    const zoomed = await look();
    ok(zoomed.zoomed === some.name && zoomed.faded > 0 && /z=/.test(zoomed.hash), `${file}: a click zooms`);
    const again = await open(file, zoomed.hash);
    ok(await again.evaluate(() => zoomed.name) === some.name, `${file}: the address holds the zoom`);
    await page.keyboard.press('Escape');
    ok((await look()).zoomed === 'all', `${file}: Escape resets it`);
    await page.evaluate(() => { $('search').value = '.*'; $('search').oninput(); });
    ok((await look()).matched === 'Matched: 100.0%', `${file}: frames within frames are counted once`);
    await page.evaluate(() => { $('search').value = '(('; $('search').oninput(); });
    ok((await look()).matched === '', `${file}: a broken expression matches nothing`);
    await page.evaluate(() => $('reset').click());
    for (const view of ['1', '2']) {
        const total = await page.evaluate(v => { $('view').value = v; $('view').onchange(); return root.value; }, view);
        ok(Math.abs(total - before.total) < 1, `${file}: the other view has the same total`);
    }
    const pause = await page.evaluate(() => {
        $('pauses').scrollIntoView();
        const s = spots.pauses[0], box = $('pauses').getBoundingClientRect();
        return s && {x: box.x + (s.from + s.to) / 2, y: box.y + 100};
    });
    if (pause) await page.mouse.move(pause.x, pause.y);
    const tip = await page.evaluate(() => $('tip').style.display === 'block' && $('tip').textContent);
    ok(!pause || /^collection 1: generation/.test(tip), `${file}: a pause under the mouse is described`);
    await page.close();
}

if (rest[0] === '--picture') {
    const [, file, png, width, height, scheme, selector, hash] = rest;
    const page = await open(file, hash, Number(width), Number(height), scheme || 'light');
    const target = selector && selector !== '-' ? await page.$(selector) : page;
    await target.screenshot({path: png});
} else {
    for (const file of rest) await (file.endsWith('.svg') ? svg : html)(file);
    ok(errors.length === 0, 'no errors, and nothing is asked of the network');
    for (const error of errors) console.log('# ' + error);
    console.log('1..' + count);
}
await browser.close();
process.exit(failures ? 1 : 0);

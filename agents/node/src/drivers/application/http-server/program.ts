import { createServer } from 'node:http';

/**
 * Serves a page on every path, the request body on `/echo` and N bytes on `/bytes/N`; caches may keep those below `/kept/`
 * for a minute. Reports once a second.
 */
const REPORT_MS = 1000;
const BODY_LIMIT_BYTES = 1 << 20;
const PAGE = Buffer.from('<!doctype html><title>Orrery</title><p>This page came from an Orrery application.</p>\n');

const counts = { requests: 0, errors: 0, bytes: 0, connections: 0 };

const server = createServer((request, response) => {
  const path = request.url?.split('?')[0] ?? '/';
  if (path === '/health') return void response.end();
  const chunks: Buffer[] = [];
  let size = 0;
  request.on('data', (chunk: Buffer) => {
    size += chunk.length;
    if (size <= BODY_LIMIT_BYTES) chunks.push(chunk);
  });
  request.on('end', () => {
    counts.requests++;
    const isTooLarge = size > BODY_LIMIT_BYTES;
    if (isTooLarge) counts.errors++;
    const content = isTooLarge ? Buffer.from('too large\n') : contentOf(path, Buffer.concat(chunks));
    counts.bytes += content.length;
    const kept = path.startsWith('/kept/') && !isTooLarge ? { 'cache-control': 'max-age=60' } : {};
    response.writeHead(isTooLarge ? 413 : 200, { 'content-type': 'text/html', ...kept }).end(content);
  });
});

function contentOf(path: string, body: Buffer): Buffer {
  if (path === '/echo') return body;
  const [, bytes] = /^\/bytes\/(\d{1,7})$/.exec(path) ?? [];
  return bytes ? Buffer.alloc(Math.min(Number(bytes), BODY_LIMIT_BYTES), 'x') : PAGE;
}

server.on('connection', (socket) => {
  counts.connections++;
  socket.on('close', () => counts.connections--);
});
server.on('error', (error) => {
  console.error(error.message);
  process.exit(1);
});
let before = { bytes: 0, at_ms: performance.now() };
server.listen(Number(process.argv[2]), () => {
  setInterval(() => {
    const { requests, errors, bytes, connections } = counts;
    const at_ms = performance.now();
    const bits_per_second = ((bytes - before.bytes) * 8000) / (at_ms - before.at_ms);
    before = { bytes, at_ms };
    console.log(JSON.stringify({ requests, errors, connections, bits_per_second }));
  }, REPORT_MS);
});

// A registry with one image, for Docker in the same network namespace: node registry.mjs LAYER.tar PORT [USER:PASSWORD]
// It serves what Docker's registry API (v2) needs for a pull, whatever name and tag are asked for.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';

const [file, port, login] = process.argv.slice(2);
const ARCHITECTURES = { x64: 'amd64', arm64: 'arm64' };
const digestOf = (bytes) => `sha256:${createHash('sha256').update(bytes).digest('hex')}`;

const layer = readFileSync(file);
const config = Buffer.from(
  JSON.stringify({
    architecture: ARCHITECTURES[process.arch] ?? process.arch,
    os: 'linux',
    config: { Env: ['PATH=/bin'] },
    rootfs: { type: 'layers', diff_ids: [digestOf(layer)] },
  }),
);
const described = (mediaType, bytes) => ({ mediaType, size: bytes.length, digest: digestOf(bytes) });
const MANIFEST = 'application/vnd.docker.distribution.manifest.v2+json';
const manifest = Buffer.from(
  JSON.stringify({
    schemaVersion: 2,
    mediaType: MANIFEST,
    config: described('application/vnd.docker.container.image.v1+json', config),
    layers: [described('application/vnd.docker.image.rootfs.diff.tar.gzip', layer)],
  }),
);
const blobs = new Map([layer, config].map((bytes) => [digestOf(bytes), bytes]));

const wanted = login && `Basic ${Buffer.from(login).toString('base64')}`;

createServer(({ method, url, headers }, response) => {
  if (wanted && headers.authorization !== wanted) {
    const unauthorized = { errors: [{ code: 'UNAUTHORIZED', message: 'authentication required' }] };
    response.writeHead(401, {
      'content-type': 'application/json',
      'docker-distribution-api-version': 'registry/2.0',
      'www-authenticate': 'Basic realm="test"',
    });
    return response.end(JSON.stringify(unauthorized));
  }
  const [, kind, digest] = /\/(manifests|blobs)\/([^/?]+)$/.exec(url) ?? [];
  const body = kind === 'manifests' ? manifest : kind === 'blobs' ? blobs.get(digest) : Buffer.from('{}');
  if (!body) return response.writeHead(404).end();
  const type = kind === 'manifests' ? MANIFEST : 'application/octet-stream';
  response.writeHead(200, {
    'content-type': type,
    'content-length': body.length,
    'docker-content-digest': digestOf(body),
    'docker-distribution-api-version': 'registry/2.0',
  });
  response.end(method === 'HEAD' ? undefined : body);
}).listen(Number(port), '127.0.0.1', () => console.log('ready'));

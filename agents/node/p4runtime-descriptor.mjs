import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import protobuf from 'protobufjs';

/**
 * Writes the protocol of P4Runtime as JSON, which the agent's bundle holds. The .proto files are those of the Python package
 * finsy in the project's environment.
 */
const venv = resolve(import.meta.dirname, '../../.venv/lib');
const python = readdirSync(venv).find((name) => name.startsWith('python'));
const protos = process.argv[2] ?? join(venv, python, 'site-packages/finsy/proto');
const out = join(import.meta.dirname, 'generated');

const root = new protobuf.Root();
root.resolvePath = (_origin, target) => (protobuf.common.get(target) ? target : join(protos, target));
await root.load('p4/v1/p4runtime.proto');
root.resolveAll();
mkdirSync(out, { recursive: true });
writeFileSync(join(out, 'p4runtime.json'), `${JSON.stringify(root.toJSON())}\n`);

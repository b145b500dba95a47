import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import protobuf from 'protobufjs';

/**
 * Writes the protocol of P4Runtime as JSON for the agent, from the folder of .proto files that is its argument. The set-up
 * runs it: the files come with a Python package.
 */
const protos = process.argv[2];
const out = join(import.meta.dirname, 'generated');

const root = new protobuf.Root();
root.resolvePath = (_origin, target) => (protobuf.common.get(target) ? target : join(protos, target));
await root.load('p4/v1/p4runtime.proto');
root.resolveAll();
mkdirSync(out, { recursive: true });
writeFileSync(join(out, 'p4runtime.json'), `${JSON.stringify(root.toJSON())}\n`);

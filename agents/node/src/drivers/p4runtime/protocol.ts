import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type * as Grpc from '@grpc/grpc-js';
import type { INamespace, Root } from 'protobufjs';
import { PACKAGE_ROOT } from '../../package-root.js';

interface Protocol {
  readonly grpc: typeof Grpc;
  readonly service: Grpc.ServiceClientConstructor;
  /** Types of the messages. */
  readonly root: Root;
}

let loaded: Promise<Protocol> | null = null;

/** Loaded when a P4 switch first needs it: an agent of a server never does. */
export function protocol(): Promise<Protocol> {
  loaded ??= load();
  return loaded;
}

/** Written at set-up by `p4runtime-descriptor.mjs`. */
const DESCRIPTOR = join(PACKAGE_ROOT, 'generated/p4runtime.json');

async function load(): Promise<Protocol> {
  const [grpc, loader, { default: protobuf }, text] = await Promise.all([
    import('@grpc/grpc-js'),
    import('@grpc/proto-loader'),
    import('protobufjs'),
    readFile(DESCRIPTOR, 'utf8'),
  ]);
  const descriptor = JSON.parse(text) as INamespace;
  const definition = loader.fromJSON(descriptor, { longs: String, enums: String });
  const methods = definition['p4.v1.P4Runtime'] as Grpc.ServiceDefinition;
  return {
    grpc,
    service: grpc.makeClientConstructor(methods, 'p4.v1.P4Runtime'),
    root: protobuf.Root.fromJSON(descriptor),
  };
}

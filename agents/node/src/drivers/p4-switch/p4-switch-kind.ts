import { resolve } from 'node:path';
import { DIRECT_ATTRIBUTES, type DirectAttribute, type SwitchAbilities } from '@orrery/contract';
import { z } from 'zod';
import { PACKAGE_ROOT } from '../../package-root.js';
import { exact, masked, range } from '../match-kinds.js';
import { FabricProgram } from '../p4-fabric/fabric-program.js';
import { P4Switch } from '../p4-fabric/p4-switch.js';
import { SwitchControl } from '../p4-fabric/switch-control.js';
import { OwnSwitch } from '../p4-own/own-switch.js';
import type { RegisterReader } from '../p4-own/register-reader.js';
import { P4RuntimeClient } from '../p4runtime/p4runtime-client.js';
import type { SwitchDriverKind } from '../switch-driver.js';
import { ProgrammableSwitch } from './programmable-switch.js';

/** Size of each table of `twin/p4/fabric.p4`. */
const TABLE_ENTRIES = 16_384;

const ABILITIES: SwitchAbilities = {
  match: {
    'eth.src': masked,
    'eth.dst': masked,
    'eth.type': exact,
    'ip.src': masked,
    'ip.dst': masked,
    'ip.proto': masked,
    'ip.fragment': exact,
    'ip.later': exact,
    'port.src': range,
    'port.dst': range,
    from_host: exact,
    flow_id: range,
    split: exact,
    nfs: exact,
  },
  groups: { select: [...DIRECT_ATTRIBUTES], all: true, fast_failover: false },
  hashes: everyKey(DIRECT_ATTRIBUTES),
  keep_flows: true,
  takes_splits: true,
  ipv6: true,
  meters: true,
  mirror: true,
  rewrite: ['eth.dst', 'ttl'],
  table_entries: {
    admit: TABLE_ENTRIES,
    steer: TABLE_ENTRIES,
    'nf-1': TABLE_ENTRIES,
    'nf-2': TABLE_ENTRIES,
    'nf-3': TABLE_ENTRIES,
    onward: TABLE_ENTRIES,
    keep: TABLE_ENTRIES,
    split: TABLE_ENTRIES,
    route: TABLE_ENTRIES,
  },
  entries: TABLE_ENTRIES,
};

const Address = z
  .string()
  .regex(/^(unix:\/.+|[^\s:]+:\d{1,5}|\[[0-9a-f:]+\]:\d{1,5})$/, 'must be unix:/path or host:port');

const Config = z.strictObject({
  p4runtime: Address,
  device_id: z.int().min(1).max(0xffff_ffff).default(1),
  ports: z.record(
    z.string(),
    z.strictObject({
      number: z.int().min(0).max(510).describe('of the program'),
      interface: z
        .string()
        .optional()
        .describe('on this machine; absent: the port is up as long as the switch answers'),
    }),
  ),
  control: z
    .string()
    .startsWith('/')
    .optional()
    .describe(
      'control socket of the built-in switch on this machine, for its ports and traces of packets; absent: none',
    ),
  thrift: Address.optional().describe('of simple_switch, for registers; absent: they cannot be read'),
  software: z.string().max(60).optional().describe('name and version of the switch'),
});

const FABRIC = resolve(PACKAGE_ROOT, '../../twin/p4/fabric');

interface Beside {
  /** Whether it tells what it did with single packets. */
  readonly traces: boolean;
  /** Reads its registers, where P4Runtime does not, at `thrift`. */
  readonly registersAt?: (thrift: string) => RegisterReader;
}

/** A kind of P4 switch that runs `fabric.p4`. `title`: what it is called where its configuration does not say. */
export function p4SwitchKind(
  kind: string,
  title: string,
  { traces, registersAt }: Beside,
): SwitchDriverKind<typeof Config> {
  return {
    kind,
    config: Config,
    abilities: { ...ABILITIES, traces },
    make: ({ p4runtime, device_id, ports, control, thrift, software = title }) => {
      const client = new P4RuntimeClient(p4runtime, String(device_id));
      const byName = new Map(Object.entries(ports));
      const beside = traces && control !== undefined ? new SwitchControl(control, byName) : undefined;
      const fabric = new P4Switch(client, new FabricProgram(FABRIC), byName, software, beside);
      const registers = thrift === undefined ? undefined : registersAt?.(thrift);
      return new ProgrammableSwitch(fabric, new OwnSwitch(client, byName, registers));
    },
  };
}

/** Every set of the attributes, by the bits of its number. */
function everyKey(attributes: readonly DirectAttribute[]): DirectAttribute[][] {
  return Array.from({ length: 2 ** attributes.length - 1 }, (_, i) =>
    attributes.filter((_attribute, bit) => ((i + 1) >> bit) % 2 === 1),
  );
}

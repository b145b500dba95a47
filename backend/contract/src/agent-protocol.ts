import { z } from 'zod';
import { ObservedApplications } from './applications/application.js';
import { ApplicationsSpec } from './applications/definition.js';
import { BoardDescription, ObservedBoard } from './boards.js';
import { Generation, Id, Name, Origin, TimestampMs } from './common.js';
import { CpuFeature, ObservedElement } from './element-manager.js';
import { MOST_EXCEPTIONS, SplitFlow } from './flow-steering.js';
import { MAX_IMAGES } from './image-lack.js';
import { InstanceState } from './lifecycle.js';
import { EngineAbility, NodeSpec, Target } from './node-spec.js';
import { P4ProgramFiles } from './p4/p4-program.js';
import { ShellInput, ShellOutput, ShellSize } from './shell.js';
import { ObservedSwitch, SwitchDescription, SwitchSamples } from './switch-protocol.js';
import { KeptFlowKey, SwitchAbilities, SwitchSpec } from './switch-spec.js';
import { NodeSamples } from './telemetry.js';

/** Raised on every change that older agents or servers do not understand. */
export const AGENT_PROTOCOL = 11;

/** Longest hello, in bytes: half of what a server reads from who has not been admitted. */
export const HELLO_MOST_BYTES = 128 * 1024;
/** Longest text of an agent, in characters; it shortens what is longer. */
export const TEXT_MOST = 4000;
const Text = z.string().max(TEXT_MOST);

export const ObservedInstance = z.strictObject({
  id: Id,
  state: InstanceState,
  detail: Text.nullable(),
  element: ObservedElement.optional().describe('of an NF that can be switched and runs; absent: there is none'),
});
export const Observed = z.strictObject({
  generation: Generation.describe('newest generation that is fully applied'),
  state: z.enum(['converged', 'progressing', 'failed']),
  engine: z.enum(['running', 'starting', 'unresponsive', 'failed', 'stopped']),
  engine_pid: z.int().min(0).nullable(),
  instances: z.array(ObservedInstance).max(10_000),
  boards: z.array(ObservedBoard).max(16).default([]),
  error: Text.nullable(),
  troubles: z
    .array(z.string().max(300))
    .max(32)
    .default([])
    .describe('what disturbs the data plane of the node although it is applied, such as an interface without a link'),
});
export type Observed = z.infer<typeof Observed>;
/** What an agent reports in `troubles` of a port whose link is down. */
export const linkDownTrouble = (port: string) => `${port}: its link is down`;

export const AgentCapabilities = z.strictObject({
  cores: z.int().min(1),
  memory_bytes: z.int().min(0),
  hugepages_bytes: z.int().min(0),
  dpdk: z.string().max(200).nullable(),
  engine_memory: z.enum(['hugepages', 'no-huge']).nullable(),
  drivers: z.array(z.string().max(40)).max(100),
  nfs: z.array(Name).max(1000),
  abilities: z.array(EngineAbility).optional().describe('abilities of its engine; absent: none'),
  workers: z.int().min(1).max(64).optional().describe('worker threads of its engine; absent: one for each core'),
  iface: z.string().max(40),
  iface_mac: z.string().max(40),
  boards: z.array(BoardDescription).max(16).default([]),
  cpu_features: z
    .array(CpuFeature)
    .max(CpuFeature.options.length)
    .optional()
    .describe('of its processor; absent: not reported'),
  containers: z
    .strictObject({
      available: z.boolean(),
      detail: z.string().max(1000).describe('which Docker, or why there is none'),
      programs: z
        .boolean()
        .optional()
        .describe('whether unmodified programs run in containers, too; which ones: `legacy_nfs`. Absent: they do not'),
      shell: z
        .boolean()
        .optional()
        .describe('its operator lets administrators open a shell in containers of programs and images. Absent: not'),
      images: z
        .array(z.string().max(300))
        .max(MAX_IMAGES)
        .optional()
        .describe(
          'references of the images that its Docker has, newest first; images of users run where `legacy_nfs` are enabled. Absent: it runs no images',
        ),
    })
    .optional()
    .describe('whether NFs can run in containers; absent: not reported'),
  legacy_nfs: z
    .strictObject({
      enabled: z.boolean().describe('its operator lets it run the programs of descriptors that users wrote'),
      nfs: z.array(Name).max(200).describe('legacy NFs that came with the agent and whose programs are installed'),
      detail: z.string().max(1000),
    })
    .optional()
    .describe('which programs it runs as NFs; absent: not reported'),
});
export type AgentCapabilities = z.infer<typeof AgentCapabilities>;

const identity = {
  protocol: z.int(),
  node: Name,
  origin: Origin,
  version: z.string().max(100),
  join_token: z.string().max(200).nullable(),
  credential: z.string().min(32).max(200).describe('a secret that the agent made and stored before it first connected'),
};

const ShellId = z.string().min(1).max(64).describe('a shell that `open_shell` has opened on this connection');

/**
 * Agent to server. The first message is `hello` (server) or `switch-hello` (switch). A join token works once, for
 * one credential; from then on the credential alone authenticates the node. `switch-*` messages are the switch counterparts of the server messages.
 */
export const AgentMessage = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('hello'),
    ...identity,
    capabilities: AgentCapabilities,
    observed: Observed.nullable().describe('null: with it the hello would be too long, so it follows'),
  }),
  z.strictObject({
    type: z.literal('switch-hello'),
    ...identity,
    description: SwitchDescription,
    drivers: z
      .record(Name, SwitchAbilities)
      .default({})
      .describe('abilities of switches by the drivers that this agent has, also those that do not run'),
    observed: ObservedSwitch.nullable().describe('null: with it the hello would be too long, so it follows'),
  }),
  z.strictObject({ type: z.literal('observed'), observed: Observed }),
  z.strictObject({ type: z.literal('applications'), observed: ObservedApplications }),
  z.strictObject({ type: z.literal('switch-observed'), observed: ObservedSwitch }),
  z.strictObject({
    type: z.literal('event'),
    event: z.string().max(100).describe('an `AgentEventType`'),
    subject: z.string().max(200),
    message: z.string().max(TEXT_MOST),
    t_ms: TimestampMs,
    data: z.record(z.string(), z.unknown()).describe('fields as declared by the event type'),
  }),
  z.strictObject({ type: z.literal('samples'), samples: NodeSamples }),
  z.strictObject({ type: z.literal('switch-samples'), samples: SwitchSamples }),
  z.strictObject({
    type: z.literal('reply'),
    id: z.string(),
    result: z.unknown().optional(),
    error: z.string().nullable(),
  }),
  z.strictObject({ type: z.literal('shell'), shell: ShellId, message: ShellOutput }),
]);
export type AgentMessage = z.infer<typeof AgentMessage>;

/**
 * The unified VNFM calls (HYPER III-A) that ask for an answer. `accelerate` and `release` answer with an `ObservedElement`. `hold_flows`, `end_hold` and `read_split` go to the instance before a split.
 * `arm_traces`, `read_traces`, `read_program`, `read_cells` and `read_kept` go to a switch, whose name takes the place of the instance.
 */
export const AgentMethod = z.enum([
  'get_instance_state',
  'read_log',
  'open_shell',
  'export_state',
  'import_state',
  'export_flows',
  'release_flows',
  'accelerate',
  'release',
  'hold_flows',
  'end_hold',
  'read_split',
  'arm_traces',
  'read_traces',
  'read_program',
  'read_cells',
  'read_kept',
]);
export type AgentMethod = z.infer<typeof AgentMethod>;

/** The answer of `read_split`: flows that the engine keeps although the ranges would send them elsewhere (E2 3.4.4). */
export const SplitReading = z.strictObject({
  total: z.int().min(0).describe('exceptions'),
  untracked: z.int().min(0).describe('packets of flows that the table had no room for'),
  exceptions: z
    .array(z.strictObject({ flow: SplitFlow, to: Target }))
    .max(MOST_EXCEPTIONS)
    .describe('those of IPv4, as many as asked'),
});
export type SplitReading = z.infer<typeof SplitReading>;

/** The answer of `read_kept`: flows of a split that the switch keeps by entries of their own, without those that have ended. */
export const KeptReading = z.array(KeptFlowKey).max(65_536);
export type KeptReading = z.infer<typeof KeptReading>;

/** Parameters of `open_shell`. */
export const OpenShell = z.object({ shell: ShellId, ...ShellSize.shape });

/** Server to agent. */
export const ServerMessage = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('welcome'),
    node: Name,
    server_version: z.string(),
  }),
  z.strictObject({ type: z.literal('desired'), spec: NodeSpec }),
  z.strictObject({ type: z.literal('applications'), spec: ApplicationsSpec }),
  z.strictObject({
    type: z.literal('switch-desired'),
    spec: SwitchSpec,
    program: P4ProgramFiles.optional().describe('of the specification, which names it by its hash'),
  }),
  z.strictObject({
    type: z.literal('call'),
    id: z.string(),
    method: AgentMethod,
    instance_id: Id,
    params: z.record(z.string(), z.unknown()),
  }),
  z.strictObject({
    type: z.literal('shell'),
    shell: ShellId,
    message: z.discriminatedUnion('type', [...ShellInput.options, z.strictObject({ type: z.literal('close') })]),
  }),
  z.strictObject({
    type: z.literal('refused'),
    detail: z.string(),
    credential_revoked: z
      .boolean()
      .default(false)
      .describe('the agent is to make a new credential and to present it with a new token'),
  }),
]);
export type ServerMessage = z.infer<typeof ServerMessage>;

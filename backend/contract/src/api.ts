import { z } from 'zod';
import { Id, Name, TimestampMs } from './common.js';
import { Infrastructure } from './infrastructure.js';
import {
  Capability,
  Deployment,
  DeployRequest,
  Event,
  Health,
  InstanceState,
  NfInstance,
  NodeStatus,
  Operation,
  OperationState,
  pageOf,
  type Role,
  Session,
  SessionRequest,
} from './lifecycle.js';
import { NfDescriptor } from './nf-descriptor.js';
import { Pipeline, PipelineDefinition, PipelineProblem, PipelineVersion, PublishRequest } from './pipeline.js';
import { CertificateRequest, Plan, PlanCertificate, PlanRequest } from './plan.js';
import { InstanceSample, Series, SloStatus } from './telemetry.js';
import {
  CaptureRequest,
  CaptureStatus,
  Fault,
  FaultRequest,
  PcapInfo,
  TrafficRequest,
  TrafficStatus,
  TwinState,
} from './twin-api.js';

export const API_PREFIX = '/api/v1';
/** Largest JSON body that is read. */
export const BODY_LIMIT_BYTES = 1024 * 1024;
export const PCAP_LIMIT_BYTES = 64 * 1024 * 1024;
export const PAGE_LIMIT = 1000;

export const SessionInfo = Session.omit({ token: true });
export type SessionInfo = z.infer<typeof SessionInfo>;

export const JoinTokenRequest = z.strictObject({ node: Name });
export const JoinToken = z.strictObject({ node: Name, token: z.string(), expires_ms: TimestampMs });
export type JoinToken = z.infer<typeof JoinToken>;

export const ValidationResult = z.strictObject({
  valid: z.boolean().describe('no problem of severity error'),
  problems: z.array(PipelineProblem),
});
export type ValidationResult = z.infer<typeof ValidationResult>;

/** The twin as the console sees it; `state` is null while its daemon does not answer. */
export const TwinStatus = z.strictObject({
  enabled: z.boolean(),
  daemon: z.enum(['off', 'starting', 'running', 'lost']),
  detail: z.string().nullable(),
  state: TwinState.nullable(),
});
export type TwinStatus = z.infer<typeof TwinStatus>;

export const InstanceStateDump = z.strictObject({
  instance_id: Id,
  state: z.unknown().describe('as the NF tells it'),
});

export interface RouteDefinition {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Below `API_PREFIX`, with `{parameters}`. */
  readonly path: `/${string}`;
  readonly tag: string;
  readonly summary: string;
  /** The least role that may call it; null: everyone. */
  readonly role: Role | null;
  readonly params?: z.ZodObject;
  readonly query?: z.ZodObject;
  readonly body?: z.ZodType;
  /** A body that is not JSON. */
  readonly body_type?: 'application/octet-stream';
  readonly status: 200 | 201 | 202 | 204;
  readonly response?: z.ZodType;
  readonly response_type?: 'text/event-stream' | 'application/json';
  /** Problems beyond those that every route may answer with (400, 401, 403, 429, 500, 503). */
  readonly problems?: readonly (404 | 409 | 412 | 413 | 415 | 422 | 502)[];
  /** The answer has `Location`. */
  readonly location?: boolean;
  /** `Idempotency-Key` is honoured; not with a `body_type`, because the key stands for the body's JSON. */
  readonly creates?: boolean;
  /** The answer has `ETag`; `If-Match` is honoured by methods that change. */
  readonly etag?: boolean;
}

const byId = z.strictObject({ id: Id });
const byPipeline = z.strictObject({ pipeline_id: Id });
const pageFields = {
  limit: z.coerce.number().int().min(1).max(PAGE_LIMIT).default(100),
  nextpage_opaque_marker: z.string().max(300).optional().describe('from `Link: rel=next` of the page before'),
};
const page = z.strictObject(pageFields);
const pageWith = <S extends z.ZodRawShape>(shape: S) => z.strictObject({ ...pageFields, ...shape });
const StreamId = z.string().regex(/^\d+-\d+$/, 'must be the id of an event, e.g. 1700000000000-0');

const defineRoutes = <const T extends Record<string, RouteDefinition>>(routes: T): T => routes;

/** Every call of the API: OpenAPI, the server's handlers and checks, and clients follow this table. */
export const ROUTES = defineRoutes({
  createSession: {
    method: 'POST',
    path: '/sessions',
    tag: 'sessions',
    summary: 'Exchange a secret for a bearer token of 12 hours',
    role: null,
    body: SessionRequest,
    status: 201,
    response: Session,
    problems: [415, 422],
  },
  getSession: {
    method: 'GET',
    path: '/sessions/current',
    tag: 'sessions',
    summary: 'Who the token stands for',
    role: 'viewer',
    status: 200,
    response: SessionInfo,
  },
  deleteSession: {
    method: 'DELETE',
    path: '/sessions/current',
    tag: 'sessions',
    summary: 'End the session',
    role: 'viewer',
    status: 204,
  },
  getHealth: {
    method: 'GET',
    path: '/health',
    tag: 'system',
    summary: 'State of the server and of the parts it depends on',
    role: 'viewer',
    status: 200,
    response: Health,
  },
  listCapabilities: {
    method: 'GET',
    path: '/capabilities',
    tag: 'system',
    summary: 'What this installation can do and what stands in for a missing part',
    role: 'viewer',
    query: page,
    status: 200,
    response: pageOf(Capability),
  },
  listNfDescriptors: {
    method: 'GET',
    path: '/nf-descriptors',
    tag: 'catalogue',
    summary: 'The network functions that pipelines can use',
    role: 'viewer',
    query: pageWith({ category: NfDescriptor.shape.category.optional() }),
    status: 200,
    response: pageOf(NfDescriptor),
  },
  getNfDescriptor: {
    method: 'GET',
    path: '/nf-descriptors/{id}',
    tag: 'catalogue',
    summary: 'One network function',
    role: 'viewer',
    params: byId,
    status: 200,
    response: NfDescriptor,
    problems: [404],
  },
  getInfrastructure: {
    method: 'GET',
    path: '/infrastructure',
    tag: 'infrastructure',
    summary: 'Servers, switches, hosts and links; empty until one is stored',
    role: 'viewer',
    status: 200,
    response: Infrastructure,
    etag: true,
  },
  putInfrastructure: {
    method: 'PUT',
    path: '/infrastructure',
    tag: 'infrastructure',
    summary: 'Replace the infrastructure; nodes of origin `twin` are built at once',
    role: 'admin',
    body: Infrastructure,
    status: 200,
    response: Infrastructure,
    problems: [409, 412, 413, 415, 422],
    etag: true,
  },
  listPipelines: {
    method: 'GET',
    path: '/pipelines',
    tag: 'pipelines',
    summary: 'Pipelines with their drafts',
    role: 'viewer',
    query: pageWith({ name: Name.optional(), deployment_state: Pipeline.shape.deployment_state.optional() }),
    status: 200,
    response: pageOf(Pipeline),
  },
  createPipeline: {
    method: 'POST',
    path: '/pipelines',
    tag: 'pipelines',
    summary: 'Store a new draft; it may still have problems',
    role: 'designer',
    body: PipelineDefinition,
    status: 201,
    response: Pipeline,
    problems: [409, 413, 415, 422],
    location: true,
    creates: true,
    etag: true,
  },
  validatePipeline: {
    method: 'POST',
    path: '/pipelines/validate',
    tag: 'pipelines',
    summary: 'Check a definition against the catalogue and the infrastructure; nothing is stored',
    role: 'viewer',
    body: PipelineDefinition,
    status: 200,
    response: ValidationResult,
    problems: [413, 415, 422],
  },
  getPipeline: {
    method: 'GET',
    path: '/pipelines/{id}',
    tag: 'pipelines',
    summary: 'One pipeline with its draft',
    role: 'viewer',
    params: byId,
    status: 200,
    response: Pipeline,
    problems: [404],
    etag: true,
  },
  putPipeline: {
    method: 'PUT',
    path: '/pipelines/{id}',
    tag: 'pipelines',
    summary: 'Save the draft',
    role: 'designer',
    params: byId,
    body: PipelineDefinition,
    status: 200,
    response: Pipeline,
    problems: [404, 409, 412, 413, 415, 422],
    etag: true,
  },
  deletePipeline: {
    method: 'DELETE',
    path: '/pipelines/{id}',
    tag: 'pipelines',
    summary: 'Delete a pipeline that is not deployed, with all its versions',
    role: 'designer',
    params: byId,
    status: 204,
    problems: [404, 409, 412],
    etag: true,
  },
  listPipelineVersions: {
    method: 'GET',
    path: '/pipelines/{id}/versions',
    tag: 'pipelines',
    summary: 'Published versions, newest first',
    role: 'viewer',
    params: byId,
    query: page,
    status: 200,
    response: pageOf(PipelineVersion),
    problems: [404],
  },
  publishPipeline: {
    method: 'POST',
    path: '/pipelines/{id}/versions',
    tag: 'pipelines',
    summary: 'Publish the draft as an immutable version; refused while it has errors',
    role: 'designer',
    params: byId,
    body: PublishRequest,
    status: 201,
    response: PipelineVersion,
    problems: [404, 409, 412, 415, 422],
    location: true,
    creates: true,
    etag: true,
  },
  getPipelineVersion: {
    method: 'GET',
    path: '/pipelines/{id}/versions/{version}',
    tag: 'pipelines',
    summary: 'One published version',
    role: 'viewer',
    params: z.strictObject({ id: Id, version: z.coerce.number().int().min(1) }),
    status: 200,
    response: PipelineVersion,
    problems: [404],
  },
  createPlan: {
    method: 'POST',
    path: '/plans',
    tag: 'plans',
    summary: 'Dry run: what a deployment would do, and why',
    role: 'operator',
    body: PlanRequest,
    status: 201,
    response: Plan,
    problems: [404, 409, 415, 422],
    location: true,
    creates: true,
  },
  certifyPlan: {
    method: 'POST',
    path: '/plans/{id}/certificate',
    tag: 'plans',
    summary: 'Prove how good a plan is: bounds of its figures, as tight as the time allows',
    role: 'operator',
    params: byId,
    body: CertificateRequest,
    status: 200,
    response: PlanCertificate,
    problems: [404, 409, 415, 422],
  },
  getPlan: {
    method: 'GET',
    path: '/plans/{id}',
    tag: 'plans',
    summary: 'One plan; plans never change, those that were not deployed are kept for a day',
    role: 'viewer',
    params: byId,
    status: 200,
    response: Plan,
    problems: [404],
  },
  listDeployments: {
    method: 'GET',
    path: '/deployments',
    tag: 'deployments',
    summary: 'What runs, a pipeline each',
    role: 'viewer',
    query: pageWith({ state: Deployment.shape.state.optional() }),
    status: 200,
    response: pageOf(Deployment),
  },
  createDeployment: {
    method: 'POST',
    path: '/deployments',
    tag: 'deployments',
    summary: 'Make a plan real, or plan and deploy one pipeline',
    role: 'operator',
    body: DeployRequest,
    status: 202,
    response: Operation,
    problems: [404, 409, 415, 422],
    location: true,
    creates: true,
  },
  getDeployment: {
    method: 'GET',
    path: '/deployments/{pipeline_id}',
    tag: 'deployments',
    summary: 'What runs of one pipeline',
    role: 'viewer',
    params: byPipeline,
    status: 200,
    response: Deployment,
    problems: [404],
  },
  deleteDeployment: {
    method: 'DELETE',
    path: '/deployments/{pipeline_id}',
    tag: 'deployments',
    summary: 'Take a pipeline down',
    role: 'operator',
    params: byPipeline,
    status: 202,
    response: Operation,
    problems: [404, 409],
    location: true,
  },
  listNfInstances: {
    method: 'GET',
    path: '/nf-instances',
    tag: 'deployments',
    summary: 'NF instances of the running plan with what their agents report',
    role: 'viewer',
    query: pageWith({
      pipeline_id: Id.optional(),
      server: Name.optional(),
      nf: Name.optional(),
      state: InstanceState.optional(),
    }),
    status: 200,
    response: pageOf(NfInstance),
  },
  getNfInstanceState: {
    method: 'GET',
    path: '/nf-instances/{id}/state',
    tag: 'deployments',
    summary: "An instance's own state, e.g. the flows of a monitor",
    role: 'operator',
    params: byId,
    query: z.strictObject({ limit: z.coerce.number().int().min(1).max(10_000).default(100) }),
    status: 200,
    response: InstanceStateDump,
    problems: [404, 502],
  },
  listOperations: {
    method: 'GET',
    path: '/operations',
    tag: 'operations',
    summary: 'Operations, newest first',
    role: 'viewer',
    query: pageWith({
      state: OperationState.optional(),
      kind: Operation.shape.kind.optional(),
      subject: Id.optional(),
    }),
    status: 200,
    response: pageOf(Operation),
  },
  getOperation: {
    method: 'GET',
    path: '/operations/{id}',
    tag: 'operations',
    summary: 'One operation with its steps',
    role: 'viewer',
    params: byId,
    status: 200,
    response: Operation,
    problems: [404],
  },
  listNodes: {
    method: 'GET',
    path: '/nodes',
    tag: 'nodes',
    summary: 'Servers with their agents',
    role: 'viewer',
    query: pageWith({ state: NodeStatus.shape.state.optional() }),
    status: 200,
    response: pageOf(NodeStatus),
  },
  getNode: {
    method: 'GET',
    path: '/nodes/{id}',
    tag: 'nodes',
    summary: 'One server with its agent',
    role: 'viewer',
    params: z.strictObject({ id: Name }),
    status: 200,
    response: NodeStatus,
    problems: [404],
  },
  createJoinToken: {
    method: 'POST',
    path: '/nodes/join-tokens',
    tag: 'nodes',
    summary: 'A one-time token with which an agent joins as a node',
    role: 'admin',
    body: JoinTokenRequest,
    status: 201,
    response: JoinToken,
    problems: [415, 422],
  },
  listEvents: {
    method: 'GET',
    path: '/events',
    tag: 'events',
    summary: 'The event log in order; `total` counts the whole log',
    role: 'viewer',
    query: pageWith({
      after: StreamId.optional().describe('only later events'),
      type: z.string().max(80).optional(),
      subject: z.string().max(120).optional(),
      severity: Event.shape.severity.optional(),
      order: z.enum(['oldest-first', 'newest-first']).default('oldest-first'),
    }),
    status: 200,
    response: pageOf(Event),
  },
  streamEvents: {
    method: 'GET',
    path: '/events/stream',
    tag: 'events',
    summary: 'The event log as server-sent events; resumes behind `Last-Event-ID` or `after`',
    role: 'viewer',
    query: z.strictObject({ after: StreamId.optional(), type: z.string().max(80).optional() }),
    status: 200,
    response: Event,
    response_type: 'text/event-stream',
  },
  listSamples: {
    method: 'GET',
    path: '/samples',
    tag: 'samples',
    summary: 'Time series of the last ten minutes by key or by key prefix ending in `/`',
    role: 'viewer',
    query: z.strictObject({
      keys: z.string().min(1).max(8000).describe('comma-separated'),
      since: z.coerce.number().min(0).optional().describe('ms since the Unix epoch'),
    }),
    status: 200,
    response: pageOf(Series),
  },
  listCounters: {
    method: 'GET',
    path: '/samples/counters',
    tag: 'samples',
    summary: 'The newest counters of each NF instance that runs, since it started',
    role: 'viewer',
    query: pageWith({ pipeline_id: Id.optional() }),
    status: 200,
    response: pageOf(InstanceSample),
  },
  listSlos: {
    method: 'GET',
    path: '/slos',
    tag: 'slos',
    summary: 'Objectives of the running pipelines with what is measured',
    role: 'viewer',
    query: pageWith({ pipeline_id: Id.optional(), state: SloStatus.shape.state.optional() }),
    status: 200,
    response: pageOf(SloStatus),
  },
  getTwin: {
    method: 'GET',
    path: '/twin',
    tag: 'twin',
    summary: 'State of the digital twin',
    role: 'viewer',
    status: 200,
    response: TwinStatus,
  },
  listTraffic: {
    method: 'GET',
    path: '/twin/traffic',
    tag: 'twin',
    summary: "Traffic of the twin's hosts",
    role: 'viewer',
    query: page,
    status: 200,
    response: pageOf(TrafficStatus),
    problems: [502],
  },
  startTraffic: {
    method: 'POST',
    path: '/twin/traffic',
    tag: 'twin',
    summary: 'Let a host send',
    role: 'operator',
    body: TrafficRequest,
    status: 201,
    response: TrafficStatus,
    problems: [404, 409, 415, 422, 502],
    location: true,
    creates: true,
  },
  getTraffic: {
    method: 'GET',
    path: '/twin/traffic/{id}',
    tag: 'twin',
    summary: 'One flow of traffic',
    role: 'viewer',
    params: byId,
    status: 200,
    response: TrafficStatus,
    problems: [404, 502],
  },
  stopTraffic: {
    method: 'DELETE',
    path: '/twin/traffic/{id}',
    tag: 'twin',
    summary: 'Stop it',
    role: 'operator',
    params: byId,
    status: 204,
    problems: [404, 502],
  },
  listFaults: {
    method: 'GET',
    path: '/twin/faults',
    tag: 'twin',
    summary: 'Faults that are in force',
    role: 'viewer',
    query: page,
    status: 200,
    response: pageOf(Fault),
    problems: [502],
  },
  injectFault: {
    method: 'POST',
    path: '/twin/faults',
    tag: 'twin',
    summary: 'Break something in the twin',
    role: 'operator',
    body: FaultRequest,
    status: 201,
    response: Fault,
    problems: [404, 409, 415, 422, 502],
    creates: true,
  },
  clearFault: {
    method: 'DELETE',
    path: '/twin/faults/{id}',
    tag: 'twin',
    summary: 'Mend it',
    role: 'operator',
    params: byId,
    status: 204,
    problems: [404, 502],
  },
  listPcaps: {
    method: 'GET',
    path: '/twin/pcaps',
    tag: 'twin',
    summary: 'Captures that can be replayed',
    role: 'viewer',
    query: page,
    status: 200,
    response: pageOf(PcapInfo),
  },
  uploadPcap: {
    method: 'POST',
    path: '/twin/pcaps',
    tag: 'twin',
    summary: 'Upload a capture of at most 64 MB in pcap or pcapng format',
    role: 'operator',
    query: z.strictObject({ name: z.string().min(1).max(120) }),
    body_type: 'application/octet-stream',
    status: 201,
    response: PcapInfo,
    problems: [409, 413, 415, 422, 502],
  },
  deletePcap: {
    method: 'DELETE',
    path: '/twin/pcaps/{id}',
    tag: 'twin',
    summary: 'Delete a capture that no running traffic replays',
    role: 'operator',
    params: byId,
    status: 204,
    problems: [404, 409, 502],
  },
  startCapture: {
    method: 'POST',
    path: '/twin/captures',
    tag: 'twin',
    summary: "Capture at a host's own interface",
    role: 'operator',
    body: CaptureRequest,
    status: 201,
    response: CaptureStatus,
    problems: [404, 409, 415, 422, 502],
    location: true,
    creates: true,
  },
  getCapture: {
    method: 'GET',
    path: '/twin/captures/{id}',
    tag: 'twin',
    summary: 'What was captured',
    role: 'viewer',
    params: byId,
    status: 200,
    response: CaptureStatus,
    problems: [404, 502],
  },
});

export type RouteName = keyof typeof ROUTES;
type Part<N extends RouteName, K extends string> = (typeof ROUTES)[N] extends {
  readonly [P in K]: infer T extends z.ZodType;
}
  ? T
  : z.ZodUndefined;
/** What a handler gets: parsed, defaults filled in. */
export interface RouteInput<N extends RouteName> {
  readonly params: z.output<Part<N, 'params'>>;
  readonly query: z.output<Part<N, 'query'>>;
  readonly body: z.output<Part<N, 'body'>>;
}
/** What a client sends. */
export interface RouteRequest<N extends RouteName> {
  readonly params: z.input<Part<N, 'params'>>;
  readonly query: z.input<Part<N, 'query'>>;
  readonly body: z.input<Part<N, 'body'>>;
}
export type RouteResponse<N extends RouteName> = z.output<Part<N, 'response'>>;

/**
 * Every key in Redis. `:` separates parts; JSON values are contract types unless said otherwise.
 * Elsewhere there are only the admin secret's file and, in the twin's state directory, uploaded captures.
 */
export const PROJECT = 'default';

const project = `orrery:${PROJECT}`;

export const KEYS = {
  /** string: scrypt hash of the admin secret. */
  adminSecret: 'orrery:auth:admin',
  /** string with expiry: a session by the SHA-256 of its token. */
  session: (hash: string) => `orrery:auth:session:${hash}`,
  /** string with expiry: answer to a request by the SHA-256 of caller, route and Idempotency-Key. */
  idempotency: (hash: string) => `orrery:idempotency:${hash}`,
  /** string with expiry: what a one-time join token is for, by the SHA-256 of the token. */
  joinToken: (hash: string) => `orrery:nodes:join:${hash}`,
  /** string: time in ms at which the server last noted that it runs. */
  serverSeen: 'orrery:server:seen',
  /** hash node -> JSON: hash of the credential and what the agent last said about itself. */
  agents: 'orrery:nodes:agents',

  /** string: the infrastructure with its revision. */
  infrastructure: `${project}:infrastructure`,
  /** hash id -> Pipeline. */
  pipelines: `${project}:pipelines`,
  /** hash name -> id. */
  pipelineNames: `${project}:pipeline-names`,
  /** hash version -> PipelineVersion. */
  versions: (pipelineId: string) => `${project}:versions:${pipelineId}`,
  /** string: a Plan; expires after a day, or behind newer previews, unless it is deployed. */
  plan: (id: string) => `${project}:plan:${id}`,
  /** sorted set: keys of plans by the time they were last read, at most the previews that are kept. */
  planPreviews: `${project}:plan-previews`,
  /** string: what nodes and fabric were last told and how far the change is (deployments/desired-store.ts). */
  desired: `${project}:desired`,
  /** hash pipeline id -> Deployment. */
  deployments: `${project}:deployments`,
  /** hash id -> Operation. */
  operations: `${project}:operations`,
  /** sorted set: operation ids by start time. */
  operationIndex: `${project}:operation-index`,
  /** list: ids of operations that wait or run, the running one first. */
  operationQueue: `${project}:operation-queue`,
  /** hash `<board>/<slot>` -> SlotReservation. */
  slotReservations: `${project}:slot-reservations`,
  /** hash id -> policy (reconfiguration/policies.ts). */
  reconfigurationPolicies: `${project}:reconfiguration-policies`,
  /** hash id -> Reconfiguration, the newest that are kept. */
  reconfigurations: `${project}:reconfigurations`,
  /** hash id -> Course of a reconfiguration that is not over (reconfiguration/course.ts). */
  reconfigurationCourses: `${project}:reconfiguration-courses`,
  /** hash id -> ScenarioRun, the newest that are kept. */
  scenarioRuns: `${project}:scenario-runs`,
  /** hash run id -> what the run made and is not taken away yet (scenarios/ledger.ts). */
  scenarioMade: `${project}:scenario-made`,
  /** stream: the event log, fields `e` (Event without id) and `n` (nonce against doubling). */
  events: `${project}:events`,
} as const;

/**
 * Every key in Redis. `:` separates parts; JSON values are contract types unless stated otherwise.
 * Outside Redis there are only the admin secret's file and, in the twin's state directory, uploaded captures.
 */
export const PROJECT = 'default';

const project = `orrery:${PROJECT}`;

export const KEYS = {
  /** string: version of the storage format (state-version.ts). */
  stateVersion: 'orrery:state-version',
  /** string: scrypt hash of the admin secret. */
  adminSecret: 'orrery:auth:admin',
  /** string with expiry: a session by the SHA-256 of its token. */
  session: (hash: string) => `orrery:auth:session:${hash}`,
  /** string with expiry: that the session of this hash was signed out, until it would have expired. */
  signedOut: (hash: string) => `orrery:auth:signed-out:${hash}`,
  /** string with expiry: answer to a request by the SHA-256 of caller, route and Idempotency-Key. */
  idempotency: (hash: string) => `orrery:idempotency:${hash}`,
  /** sorted set: keys of these answers by the time of their last use in ms. */
  idempotencyOrder: 'orrery:idempotency:order',
  /** hash: bytes of each of these answers; string: their sum. */
  idempotencySizes: 'orrery:idempotency:sizes',
  idempotencyBytes: 'orrery:idempotency:bytes',
  /** string with expiry: what a one-time join token is for, by the SHA-256 of the token. */
  joinToken: (hash: string) => `orrery:nodes:join:${hash}`,
  /** string: time in ms of the server's last heartbeat. */
  serverSeen: 'orrery:server:seen',
  /** durable collection, by node: hash of the credential and what the agent last said about itself. */
  agents: 'orrery:nodes:agents',

  /** string: the infrastructure with its revision. */
  infrastructure: `${project}:infrastructure`,
  /** durable collection of legacy NFs that users described (nf-descriptors/stored.ts). */
  nfDescriptors: `${project}:nf-descriptors`,
  /** durable collection, by NF: profiles learnt from measurements (nf-descriptors/learnt.ts). */
  learntProfiles: `${project}:learnt-profiles`,
  /** durable collection of P4 programs that users uploaded, and of what switches hold for them (p4-programs/stored.ts). */
  p4Programs: `${project}:p4-programs`,
  p4Entries: `${project}:p4-entries`,
  /** hash id -> declared application (applications/stored.ts). */
  applications: `${project}:applications`,
  /** durable collection: how far splits in steps are (split-handover/handovers.ts). */
  splitHandovers: `${project}:split-handovers`,
  /** durable collection of Chain without what is deployed. */
  chains: `${project}:chains`,
  /** hash version -> ChainVersion. */
  versions: (chainId: string) => `${project}:versions:${chainId}`,
  /** string: a Plan; expires after a day or is evicted by newer ones, unless it is deployed or held. */
  plan: (id: string) => `${project}:plan:${id}`,
  /** sorted sets: keys of plans that users asked for, and of those that the server made or that ran, by when they were last read or put there. */
  planPreviews: `${project}:plan-previews`,
  planOwn: `${project}:plan-own`,
  /** hash: keys of plans that are kept whatever comes, by who needs them. */
  planHolds: `${project}:plan-holds`,
  /** string: what nodes and fabric were last told and how far the change is (deployments/desired-store.ts). */
  desired: `${project}:desired`,
  /** string: the fabric's rules and what each switch was told for them (fabric/fabric-store.ts). */
  fabric: `${project}:fabric`,
  /** durable collection: links that packets go around, with who told that they are down (fabric/links-around.ts). */
  linksAround: `${project}:links-around`,
  /** durable collection of Deployment, by chain. */
  deployments: `${project}:deployments`,
  /** durable collection of Operation. */
  operations: `${project}:operations`,
  /** list: ids of operations that wait or run, the running one first. */
  operationQueue: `${project}:operation-queue`,
  /** durable collection of policies (reconfiguration/policies). */
  reconfigurationPolicies: `${project}:reconfiguration-policies`,
  /** durable collection of reconfigurations, with their course while unfinished (reconfiguration/records). */
  reconfigurations: `${project}:reconfigurations`,
  /** durable collections of lending groups, what each has lent with its accounts, and their latest turns (lending). */
  lendingGroups: `${project}:lending-groups`,
  lendingLedgers: `${project}:lending-ledgers`,
  lendingTurns: `${project}:lending-turns`,
  /** durable collection of scaling policies (scaling/policies.ts). */
  scalingPolicies: `${project}:scaling-policies`,
  /** durable collection of Scalings (scaling/scalings.ts). */
  scalings: `${project}:scalings`,
  /** durable collection of the latest ScenarioReports (scenarios/records.ts). */
  scenarioRuns: `${project}:scenario-runs`,
  /** durable collection, by run: what the run created and has not been removed yet (scenarios/ledger.ts). */
  scenarioMade: `${project}:scenario-made`,
  /** durable collections of what is out of service, of chains that are not kept, of the one policy, and of what was told (healing/records.ts). */
  outOfService: `${project}:out-of-service`,
  chainsNotKept: `${project}:chains-not-kept`,
  healingPolicy: `${project}:healing-policy`,
  healingAccounted: `${project}:healing-accounted`,
  /** durable collections of the one policy of upkeep and of its advice (upkeep/records.ts). */
  upkeepPolicy: `${project}:upkeep-policy`,
  placementAdvice: `${project}:placement-advice`,
  /** string: the Calibration in use. */
  calibration: `${project}:calibration`,
  /** durable collections of service pools and of the requests that use them (service-requests/stored.ts). */
  servicePools: `${project}:service-pools`,
  serviceRequests: `${project}:service-requests`,
  /** durable collection of objectives whose seconds are counted (slos/ledger). */
  sloLedgers: `${project}:slo-ledgers`,
  /** hash of one objective: what is known of its seconds, by ten minutes and by day (slos/ledger/stored-history.ts). */
  sloHistory: (chainId: string, sloId: string) => `${project}:slo-history:${chainId}:${sloId}`,
  /** hash: the same moment by the wall clock and in the time of these histories (slos/ledger/history-clock.ts). */
  sloClock: `${project}:slo-clock`,
  /** durable collection of SloAlert. */
  sloAlerts: `${project}:slo-alerts`,
  /** durable collection of Lease, by claim and resource. */
  leases: `${project}:leases`,
  /** durable collections of webhooks and of how far each has sent the event log (webhooks/stored.ts). */
  webhooks: `${project}:webhooks`,
  webhookProgress: `${project}:webhook-progress`,
  /** durable collection of PausedLoop, by loop. */
  pausedLoops: `${project}:paused-loops`,
  /** stream: the event log, fields `e` (Event without id) and `n` (nonce against duplicates). */
  events: `${project}:events`,
} as const;

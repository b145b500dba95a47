/** Resources that an event may have changed, by the subject kind at the start of its type. */
const CHANGED_BY: Record<string, readonly string[]> = {
  pipeline: ['pipelines'],
  plan: ['plans'],
  operation: ['operations', 'pipelines', 'deployments', 'nf-instances', 'slos'],
  deployment: ['deployments', 'pipelines', 'nf-instances', 'operations', 'slos'],
  instance: ['nf-instances', 'deployments', 'pipelines'],
  node: ['nodes', 'nf-instances', 'health'],
  agent: ['nodes', 'nf-instances', 'health'],
  engine: ['nodes', 'nf-instances'],
  infrastructure: ['infrastructure', 'nodes', 'twin'],
  twin: ['twin', 'health', 'nodes'],
  fabric: ['twin'],
  link: ['twin'],
  fault: ['twin'],
  traffic: ['twin'],
  capture: ['twin'],
  pcap: ['twin'],
  slot: ['accelerators'],
  board: ['accelerators', 'twin'],
  reservation: ['accelerators'],
  reconfiguration: ['reconfigurations', 'accelerators', 'reconfiguration-policies', 'nf-instances', 'deployments'],
  policy: ['reconfiguration-policies'],
  scenario: ['scenario-runs', 'pipelines'],
  slo: ['slos'],
  capability: ['capabilities'],
  port: ['nodes'],
  server: ['health'],
};

/** Events that change less than their kind. */
const CHANGED_LITTLE: Record<string, readonly string[]> = {
  'operation.step': ['operations'],
  'operation.first-packet': ['operations'],
  'reconfiguration.stage': ['reconfigurations', 'reconfiguration-policies'],
};

export function queryKeysOf(eventType: string): readonly string[] {
  return CHANGED_LITTLE[eventType] ?? CHANGED_BY[eventType.slice(0, eventType.indexOf('.'))] ?? [];
}

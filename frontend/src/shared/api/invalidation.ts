import type { EventKind, EventType } from '@orrery/contract';

/** Resources that events of a kind may have changed. */
const CHANGED_BY: Record<EventKind, readonly string[]> = {
  application: ['applications'],
  chain: ['chains'],
  'nf-descriptor': ['nf-descriptors'],
  'p4-program': ['p4-programs'],
  'service-request': ['service-requests', 'service-pools'],
  'service-pool': ['service-pools', 'service-requests'],
  operation: ['operations', 'chains', 'deployments', 'nf-instances', 'slos'],
  nf: ['nf-instances'],
  deployment: ['deployments', 'chains', 'nf-instances', 'operations', 'slos'],
  instance: ['nf-instances', 'deployments', 'chains'],
  node: ['nodes', 'switches', 'nf-instances', 'health'],
  agent: ['nodes', 'switches', 'nf-instances', 'health'],
  engine: ['nodes', 'nf-instances'],
  docker: ['nodes', 'nf-instances'],
  container: ['nodes'],
  port: ['nodes'],
  drift: ['nodes', 'nf-instances'],
  loop: ['loops'],
  maintenance: ['out-of-service', 'nodes'],
  healing: ['out-of-service', 'chains-not-kept', 'nodes', 'deployments', 'chains', 'health'],
  slo: ['slos'],
  infrastructure: ['infrastructure', 'nodes', 'switches', 'twin'],
  twin: ['twin', 'health', 'nodes'],
  'container-engine': ['twin', 'capabilities'],
  'delay-line': ['twin'],
  switch: ['twin', 'nodes', 'switches', 'p4-entries'],
  link: ['twin'],
  links: ['twin'],
  watch: ['twin'],
  fault: ['twin'],
  capture: ['twin'],
  pcap: ['twin'],
  slot: ['accelerators'],
  board: ['accelerators', 'twin'],
  reconfiguration: ['reconfigurations', 'accelerators', 'reconfiguration-policies', 'nf-instances', 'deployments'],
  policy: ['reconfiguration-policies'],
  lending: ['lending-groups', 'lending-turns'],
  scaling: ['scalings', 'scaling-policies'],
  scenario: ['scenario-runs', 'chains'],
  sqli: [],
  ddos: [],
  elephant: [],
  server: ['health'],
  session: [],
  upkeep: ['placement-advice'],
  shell: [],
  webhook: ['webhooks'],
  split: ['deployments'],
};

/** Events that change less than their kind. */
const CHANGED_LITTLE: Partial<Record<EventType, readonly string[]>> = {
  'operation.step': ['operations'],
  'operation.first-packet': ['operations'],
  'reconfiguration.stage': ['reconfigurations', 'reconfiguration-policies'],
};

export function queryKeysOf(type: EventType): readonly string[] {
  return CHANGED_LITTLE[type] ?? CHANGED_BY[type.slice(0, type.indexOf('.')) as EventKind] ?? [];
}

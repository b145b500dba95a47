import type { RouteName as ContractRoute, ROUTES, RouteRequest, RouteResponse } from '@orrery/contract';

/** Method and path of each call; the compiler holds it to the contract's table, whose schemas need not be shipped. */
export const PATHS = {
  createSession: ['POST', '/sessions'],
  getSession: ['GET', '/sessions/current'],
  deleteSession: ['DELETE', '/sessions/current'],
  getHealth: ['GET', '/health'],
  listCapabilities: ['GET', '/capabilities'],
  listNfDescriptors: ['GET', '/nf-descriptors'],
  getNfDescriptor: ['GET', '/nf-descriptors/{id}'],
  getInfrastructure: ['GET', '/infrastructure'],
  putInfrastructure: ['PUT', '/infrastructure'],
  listPipelines: ['GET', '/pipelines'],
  createPipeline: ['POST', '/pipelines'],
  validatePipeline: ['POST', '/pipelines/validate'],
  getPipeline: ['GET', '/pipelines/{id}'],
  putPipeline: ['PUT', '/pipelines/{id}'],
  deletePipeline: ['DELETE', '/pipelines/{id}'],
  listPipelineVersions: ['GET', '/pipelines/{id}/versions'],
  publishPipeline: ['POST', '/pipelines/{id}/versions'],
  getPipelineVersion: ['GET', '/pipelines/{id}/versions/{version}'],
  createPlan: ['POST', '/plans'],
  certifyPlan: ['POST', '/plans/{id}/certificate'],
  getPlan: ['GET', '/plans/{id}'],
  listDeployments: ['GET', '/deployments'],
  createDeployment: ['POST', '/deployments'],
  getDeployment: ['GET', '/deployments/{pipeline_id}'],
  deleteDeployment: ['DELETE', '/deployments/{pipeline_id}'],
  listNfInstances: ['GET', '/nf-instances'],
  getNfInstanceState: ['GET', '/nf-instances/{id}/state'],
  listOperations: ['GET', '/operations'],
  getOperation: ['GET', '/operations/{id}'],
  listNodes: ['GET', '/nodes'],
  getNode: ['GET', '/nodes/{id}'],
  createJoinToken: ['POST', '/nodes/join-tokens'],
  listEvents: ['GET', '/events'],
  streamEvents: ['GET', '/events/stream'],
  listCounters: ['GET', '/samples/counters'],
  listSamples: ['GET', '/samples'],
  listSlos: ['GET', '/slos'],
  getTwin: ['GET', '/twin'],
  listTraffic: ['GET', '/twin/traffic'],
  startTraffic: ['POST', '/twin/traffic'],
  getTraffic: ['GET', '/twin/traffic/{id}'],
  stopTraffic: ['DELETE', '/twin/traffic/{id}'],
  listFaults: ['GET', '/twin/faults'],
  injectFault: ['POST', '/twin/faults'],
  clearFault: ['DELETE', '/twin/faults/{id}'],
  listPcaps: ['GET', '/twin/pcaps'],
  uploadPcap: ['POST', '/twin/pcaps'],
  deletePcap: ['DELETE', '/twin/pcaps/{id}'],
  startCapture: ['POST', '/twin/captures'],
  getCapture: ['GET', '/twin/captures/{id}'],
} as const satisfies {
  readonly [N in ContractRoute]?: readonly [(typeof ROUTES)[N]['method'], (typeof ROUTES)[N]['path']];
};
export type RouteName = keyof typeof PATHS;

type Given<R> = {
  readonly [K in keyof R as undefined extends R[K] ? never : K]: K extends 'query' ? Partial<R[K]> : R[K];
};
/** Parameters, query and body of a call, as far as the contract gives it any. */
export type CallInput<N extends RouteName> = Given<RouteRequest<N>>;
export type CallResult<N extends RouteName> = RouteResponse<N>;

import { z } from 'zod';
import { InstanceStateDump } from './api-resources.js';
import { Id, Name } from './common.js';
import {
  Deployment,
  DeployRequest,
  InstanceState,
  NfInstance,
  Operation,
  OperationState,
  pageOf,
} from './lifecycle.js';
import { defineRoutes } from './route-definition.js';
import { byId, pageWith } from './route-parameters.js';

const byChain = z.strictObject({ chain_id: Id });

/** What a change of an operation by hand has in common: it is accepted, and the operation tells how it goes on. */
const BY_HAND = {
  method: 'POST',
  tag: 'operations',
  role: 'operator',
  params: byId,
  status: 202,
  response: Operation,
  problems: [404, 409],
  location: true,
} as const;

/** Deployments, the instances that they run, and the operations that change them. */
export const DEPLOYMENT_ROUTES = defineRoutes({
  listDeployments: {
    method: 'GET',
    path: '/deployments',
    tag: 'deployments',
    summary: 'List deployments, one per chain',
    role: 'viewer',
    query: pageWith({ state: Deployment.shape.state.optional() }),
    status: 200,
    response: pageOf(Deployment),
  },
  createDeployment: {
    method: 'POST',
    path: '/deployments',
    tag: 'deployments',
    summary: 'Deploy a plan, or plan and deploy one chain',
    role: 'operator',
    body: DeployRequest,
    status: 202,
    response: Operation,
    problems: [404],
    location: true,
    creates: true,
  },
  getDeployment: {
    method: 'GET',
    path: '/deployments/{chain_id}',
    tag: 'deployments',
    summary: 'Get the deployment of a chain',
    role: 'viewer',
    params: byChain,
    status: 200,
    response: Deployment,
    problems: [404],
  },
  deleteDeployment: {
    method: 'DELETE',
    path: '/deployments/{chain_id}',
    tag: 'deployments',
    summary: 'Undeploy a chain',
    role: 'operator',
    params: byChain,
    status: 202,
    response: Operation,
    problems: [404, 409],
    location: true,
  },
  listNfInstances: {
    method: 'GET',
    path: '/nf-instances',
    tag: 'deployments',
    summary: 'List the NF instances of the running plan with the state that their agents report',
    role: 'viewer',
    query: pageWith({
      chain_id: Id.optional(),
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
    summary: 'Get the internal state of an instance, e.g. the flows of a monitor',
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
    summary: 'List operations, newest first',
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
    summary: 'Get an operation with its steps',
    role: 'viewer',
    params: byId,
    status: 200,
    response: Operation,
    problems: [404],
  },
  cancelOperation: {
    ...BY_HAND,
    path: '/operations/{id}/cancel',
    summary: 'Cancel an operation in PROCESSING; what it has changed is taken back, and it ends as ROLLED_BACK',
  },
  retryOperation: {
    ...BY_HAND,
    path: '/operations/{id}/retry',
    summary: 'Try an operation in FAILED_TEMP again at once, also one that was set aside',
  },
  rollbackOperation: {
    ...BY_HAND,
    path: '/operations/{id}/rollback',
    summary: 'Take back what an operation in FAILED_TEMP has changed; it ends as ROLLED_BACK',
  },
});

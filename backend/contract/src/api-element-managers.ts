import { ElementState } from './element-manager.js';
import { defineRoutes } from './route-definition.js';
import { byId } from './route-parameters.js';

/** What both calls to an element manager have in common: the answer is the state after it. */
const SWITCH = {
  method: 'POST',
  tag: 'deployments',
  role: 'operator',
  params: byId,
  status: 200,
  response: ElementState,
  problems: [404, 409, 502],
} as const;

/** Element managers of NF instances (ETSI NFV EM). */
export const ELEMENT_MANAGER_ROUTES = defineRoutes({
  getNfInstanceElement: {
    method: 'GET',
    path: '/nf-instances/{id}/element',
    tag: 'deployments',
    summary: 'Get whether an instance uses an accelerator, and what it takes of its core',
    role: 'viewer',
    params: byId,
    status: 200,
    response: ElementState,
    problems: [404, 502],
  },
  accelerateNfInstance: {
    ...SWITCH,
    path: '/nf-instances/{id}/accelerate',
    summary: 'Switch an instance to the accelerator of its server from its next packet on; sessions stay up',
  },
  releaseNfInstance: {
    ...SWITCH,
    path: '/nf-instances/{id}/release',
    summary: 'Switch an instance back to software from its next packet on; sessions stay up',
  },
});

import { z } from 'zod';
import { Name } from './common.js';
import { pageOf } from './lifecycle.js';
import { defineRoutes } from './route-definition.js';
import { byId, page, pageWith } from './route-parameters.js';
import {
  BulkAnswer,
  BulkProgress,
  BulkRequests,
  MeasuredRequest,
  ServicePool,
  ServicePoolDefinition,
  ServiceRequestSpec,
  ServiceRequestState,
} from './service-request.js';

const byName = z.strictObject({ id: Name });

/** SLA-aware chaining over shared instances (HYPER IV). */
export const SERVICE_REQUEST_ROUTES = defineRoutes({
  listServicePools: {
    method: 'GET',
    path: '/service-pools',
    tag: 'service requests',
    summary: 'List service pools with what their instances have left',
    role: 'viewer',
    query: page,
    status: 200,
    response: pageOf(ServicePool),
  },
  createServicePool: {
    method: 'POST',
    path: '/service-pools',
    tag: 'service requests',
    summary: 'Deploy instances that service requests share',
    role: 'designer',
    body: ServicePoolDefinition,
    status: 201,
    response: ServicePool,
    location: true,
    creates: true,
  },
  getServicePool: {
    method: 'GET',
    path: '/service-pools/{id}',
    tag: 'service requests',
    summary: 'Get a service pool',
    role: 'viewer',
    params: byName,
    status: 200,
    response: ServicePool,
    problems: [404],
  },
  deleteServicePool: {
    method: 'DELETE',
    path: '/service-pools/{id}',
    tag: 'service requests',
    summary: 'Take down a service pool and, with `requests=release`, release the requests that use it',
    role: 'designer',
    params: byName,
    query: z.strictObject({
      requests: z.enum(['keep', 'release']).default('keep').describe('keep: refused while requests use the pool'),
    }),
    status: 204,
    problems: [404, 409],
  },
  listServiceRequests: {
    method: 'GET',
    path: '/service-requests',
    tag: 'service requests',
    summary: 'List service requests, newest first, with what they get',
    role: 'viewer',
    query: pageWith({ pool: Name.optional(), state: ServiceRequestState.optional() }),
    status: 200,
    response: pageOf(MeasuredRequest),
  },
  createServiceRequest: {
    method: 'POST',
    path: '/service-requests',
    tag: 'service requests',
    summary: 'Request a way through functions within a latency; the answer tells whether it is accepted, and why not',
    role: 'operator',
    body: ServiceRequestSpec,
    status: 201,
    response: MeasuredRequest,
    location: true,
    creates: true,
  },
  createServiceRequests: {
    method: 'POST',
    path: '/service-requests/bulk',
    tag: 'service requests',
    summary: 'Request many ways in turn, each on what the former ones left',
    role: 'operator',
    body: BulkRequests,
    body_limit_bytes: 8 * 1024 * 1024,
    status: 201,
    response: BulkAnswer,
    creates: true,
  },
  dismissServiceRequests: {
    method: 'DELETE',
    path: '/service-requests',
    tag: 'service requests',
    summary: 'Forget all service requests that were refused, or all that were released, or those of one pool',
    role: 'operator',
    query: z.strictObject({
      state: z.enum(['refused', 'released']),
      pool: Name.optional(),
      until: z.coerce
        .number()
        .min(0)
        .optional()
        .describe('when they were seen, ms since the Unix epoch: those that were refused or released later stay'),
    }),
    status: 204,
  },
  getBulkProgress: {
    method: 'GET',
    path: '/service-requests/bulk/{id}',
    tag: 'service requests',
    summary: 'Tell how far a call in bulk has come; who closes its connection cancels it, and nothing is booked',
    role: 'operator',
    params: byId,
    status: 200,
    response: BulkProgress,
    problems: [404],
  },
  getServiceRequest: {
    method: 'GET',
    path: '/service-requests/{id}',
    tag: 'service requests',
    summary: 'Get a service request with its way, or why it has none',
    role: 'viewer',
    params: byId,
    status: 200,
    response: MeasuredRequest,
    problems: [404],
  },
  deleteServiceRequest: {
    method: 'DELETE',
    path: '/service-requests/{id}',
    tag: 'service requests',
    summary: 'Release a service request, or, with `state`, forget one that was refused',
    role: 'operator',
    params: byId,
    query: z.strictObject({
      state: z.literal('refused').optional().describe('forgets it; refused unless it is in this state'),
    }),
    status: 204,
    problems: [404, 409],
  },
});

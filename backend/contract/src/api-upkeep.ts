import { defineRoutes } from './route-definition.js';
import { AdviceDismissal, PlacementAdvice, UpkeepPolicy, UpkeepPolicyRequest } from './upkeep.js';

/** Whether what runs is placed well, and what is done about it. */
export const UPKEEP_ROUTES = defineRoutes({
  getUpkeepPolicy: {
    method: 'GET',
    path: '/upkeep-policy',
    tag: 'upkeep',
    summary: 'Get what the server does by itself when another placement would be better',
    role: 'viewer',
    status: 200,
    response: UpkeepPolicy,
    etag: true,
  },
  putUpkeepPolicy: {
    method: 'PUT',
    path: '/upkeep-policy',
    tag: 'upkeep',
    summary: 'Change what the server does by itself when another placement would be better',
    role: 'operator',
    body: UpkeepPolicyRequest,
    status: 200,
    response: UpkeepPolicy,
    etag: true,
  },
  getPlacementAdvice: {
    method: 'GET',
    path: '/placement-advice',
    tag: 'upkeep',
    summary: 'Get how what runs differs from its plan, and whether another placement would be better',
    role: 'viewer',
    status: 200,
    response: PlacementAdvice,
    etag: true,
  },
  applyPlacementAdvice: {
    method: 'POST',
    path: '/placement-advice/apply',
    tag: 'upkeep',
    summary:
      'Apply the advice that was read, by an operation; refused where it has changed or another change holds a chain',
    role: 'operator',
    status: 202,
    response: PlacementAdvice,
    problems: [409, 428],
    location: true,
    etag: true,
  },
  dismissPlacementAdvice: {
    method: 'POST',
    path: '/placement-advice/dismiss',
    tag: 'upkeep',
    summary: 'Advise nothing for some hours',
    role: 'operator',
    body: AdviceDismissal,
    status: 200,
    response: PlacementAdvice,
    problems: [409, 428],
    etag: true,
  },
});

import { z } from 'zod';
import { Name } from './common.js';
import { pageOf } from './lifecycle.js';
import { Loop } from './loops.js';
import { defineRoutes } from './route-definition.js';
import { page } from './route-parameters.js';

const byName = z.strictObject({ id: Name });

/** The control loops of the server. */
export const LOOP_ROUTES = defineRoutes({
  listLoops: {
    method: 'GET',
    path: '/loops',
    tag: 'loops',
    summary: 'List control loops: purpose, latest decision with its reason, and next run',
    role: 'viewer',
    query: page,
    status: 200,
    response: pageOf(Loop),
  },
  pauseLoop: {
    method: 'POST',
    path: '/loops/{id}/pause',
    tag: 'loops',
    summary: 'Pause a loop after its current run; it stays paused across restarts until it is resumed',
    role: 'operator',
    params: byName,
    status: 200,
    response: Loop,
    problems: [404],
  },
  resumeLoop: {
    method: 'POST',
    path: '/loops/{id}/resume',
    tag: 'loops',
    summary: 'Resume a paused loop',
    role: 'operator',
    params: byName,
    status: 200,
    response: Loop,
    problems: [404],
  },
});

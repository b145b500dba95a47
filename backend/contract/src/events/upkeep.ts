import { z } from 'zod';
import { Id } from '../common.js';
import { PlacementGain, UpkeepPolicyRequest } from '../upkeep.js';
import { event } from './declare.js';

export const UPKEEP_EVENTS = {
  'upkeep.advised': event({
    title: 'Better placement found',
    about: 'loop',
    data: z.object({ plan_id: Id, moved: z.array(Id), gain: PlacementGain }),
  }),
  'upkeep.applied': event({
    title: 'Better placement applied',
    about: 'loop',
    marks: true,
    data: z.object({ operation_id: Id, moved: z.array(Id) }),
  }),
  'upkeep.refused': event({
    title: 'Better placement not applied',
    about: 'loop',
    severity: 'warning',
    data: z.object({ operation_id: Id.nullable() }),
  }),
  'upkeep.policy': event({
    title: 'Upkeep policy changed',
    about: 'loop',
    data: z.object(UpkeepPolicyRequest.shape),
  }),
};

import type { EventDraft, Operation } from '@orrery/contract';
import type { Phase } from '@orrery/planner';

/** An operation has entered a phase. */
export function stepEvent(operation: Operation, phase: Phase): EventDraft {
  const titles: Record<Phase, string> = {
    prepare: 'New instances start',
    extend: 'Every switch forwards to them',
    steer: operation.drivers.length > 0 ? 'Switches change their drivers' : 'Traffic is steered to them',
    switch: 'Instances that stay are switched over',
    clean: 'Instances that are no longer needed end',
    settle: 'Old hops are removed from the switches',
    settled: 'Everything matches the plan',
  };
  return {
    type: 'operation.step',
    subject: operation.id,
    message: titles[phase],
    actor: operation.by,
    data: { phase, chain_id: operation.subject },
  };
}

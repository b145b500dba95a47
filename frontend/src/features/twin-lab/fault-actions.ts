import type { Fault } from '@orrery/contract';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { call } from '../../shared/api/client.js';
import { useFaults } from '../../shared/api/queries.js';
import { useNeeds } from '../../shared/api/session.js';
import { notifyError } from '../../shared/ui/notify.js';

export interface FaultActions {
  readonly faults: readonly Fault[];
  /** Why the user may inject and clear none; null: it may. */
  readonly refusal: string | null;
  readonly busy: string | null;
  readonly inject: (kind: Fault['kind'], target: string, slot?: number) => void;
  readonly clear: (id: string) => void;
}

/** Injects and clears faults; `busy` is the current target. */
export function useFaultActions(): FaultActions & { query: ReturnType<typeof useFaults> } {
  const query = useFaults();
  const queries = useQueryClient();
  const refusal = useNeeds('operator');
  const onSettled = () => queries.invalidateQueries({ queryKey: ['twin'] });
  const inject = useMutation({
    mutationFn: (body: Omit<Fault, 'id' | 'since_ms'>) =>
      call('injectFault', { body }, { idempotencyKey: crypto.randomUUID() }),
    onError: (error) => notifyError('No fault was injected', error),
    onSettled,
  });
  const clear = useMutation({
    mutationFn: (id: string) => call('clearFault', { params: { id } }),
    onError: (error) => notifyError('The fault was not cleared', error),
    onSettled,
  });
  const busy = inject.isPending ? inject.variables.target : clear.isPending ? clear.variables : null;
  return {
    query,
    faults: query.data ?? [],
    refusal,
    busy,
    inject: (kind, target, slot) => inject.mutate({ kind, target, ...(slot !== undefined && { slot }) }),
    clear: (id) => clear.mutate(id),
  };
}

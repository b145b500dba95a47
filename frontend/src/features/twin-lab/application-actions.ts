import type { Application } from '@orrery/contract';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { call } from '../../shared/api/client.js';
import { useMay } from '../../shared/api/session.js';
import { notifyError } from '../../shared/ui/notify.js';

export type ApplicationAction = 'start' | 'stop' | 'restart' | 'delete';

export interface ApplicationActions {
  readonly may: boolean;
  /** Id of the application that is being changed. */
  readonly busy: string | null;
  readonly run: (action: ApplicationAction, application: Application) => void;
}

/** Starts, stops and removes applications. */
export function useApplicationActions(): ApplicationActions {
  const queries = useQueryClient();
  const may = useMay('operator');
  const change = useMutation({
    mutationFn: ({ action, application }: { action: ApplicationAction; application: Application }): Promise<unknown> =>
      perform(action, application),
    onError: (error, { action, application }) => notifyError(`${application.id}: ${action} failed`, error),
    onSettled: () => queries.invalidateQueries({ queryKey: ['applications'] }),
  });
  return {
    may,
    busy: change.isPending ? change.variables.application.id : null,
    run: (action, application) => change.mutate({ action, application }),
  };
}

function perform(action: ApplicationAction, { id, definition, revision }: Application): Promise<unknown> {
  const options = { ifMatch: `"${revision}"` };
  const params = { id };
  switch (action) {
    case 'delete':
      return call('deleteApplication', { params }, options);
    case 'restart':
      return call('restartApplication', { params }, options);
    default:
      return call('putApplication', { params, body: { ...definition, enabled: action === 'start' } }, options);
  }
}

import { useQuery } from '@tanstack/react-query';
import { call } from '../../shared/api/client.js';
import { DetailPanel } from '../../shared/ui/detail-panel.js';
import { ErrorState, LoadingRows } from '../../shared/ui/states.js';
import { ReconfigurationDetail } from './reconfiguration-detail.js';

interface SelectedReconfigurationProps {
  readonly id: string;
  readonly onClose: () => void;
}

/** The selected reconfiguration; it may be older than those in the list. */
export function SelectedReconfiguration({ id, onClose }: SelectedReconfigurationProps) {
  const query = useQuery({
    queryKey: ['reconfigurations', 'one', id],
    queryFn: ({ signal }) => call('getReconfiguration', { params: { id } }, { signal }),
    refetchInterval: ({ state }) => (state.data?.state === 'running' ? 500 : false),
  });
  if (query.data) return <ReconfigurationDetail reconfiguration={query.data} onClose={onClose} />;
  return (
    <DetailPanel label={`Reconfiguration ${id}`} title="Reconfiguration" onClose={onClose}>
      {query.error ? <ErrorState error={query.error} retry={() => void query.refetch()} /> : <LoadingRows />}
    </DetailPanel>
  );
}

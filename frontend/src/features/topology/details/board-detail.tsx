import { sampleKey } from '@orrery/contract/sample-keys';
import { Link } from 'react-router';
import { TimeSeriesChart } from '../../../shared/charts/time-series-chart.js';
import { attachmentText } from '../../../shared/format/attachment.js';
import { PartService } from '../../../shared/service/part-service.js';
import { DetailSection, Facts } from '../../../shared/ui/detail-panel.js';
import { StatusBadge } from '../../../shared/ui/status-badge.js';
import { type BoardBox, slotWords } from '../boards.js';
import { originFact } from './origin-fact.js';

export function BoardDetail({ board }: { readonly board: BoardBox }) {
  const { server } = board;
  return (
    <>
      <Facts
        items={[
          ['State', <StatusBadge key="state" state={board.state} />],
          ['Service', <PartService key="service" id={board.id} board={board} />],
          ['Device', board.device],
          ['Attached', attachmentText(board)],
          [
            'Server',
            <Link key="server" to={`/topology?node=${encodeURIComponent(server)}`}>
              {server}
            </Link>,
          ],
          originFact(board.emulated ? 'twin' : 'live'),
        ]}
      />
      <DetailSection title={`Slots (${board.slots.length})`}>
        <Facts items={board.slots.map((row) => [`slot ${row.slot}`, row.instance?.id ?? slotWords(row)] as const)} />
      </DetailSection>
      <TimeSeriesChart
        title="Throughput of slots"
        quantity="bps"
        emulated={board.emulated}
        height={130}
        series={board.slots.map(({ slot }) => ({
          key: sampleKey('slot', { board: board.id, slot }, 'bps'),
          label: `slot ${slot}`,
        }))}
      />
      <p className="muted">
        Program its slots on <Link to="/accelerators">Accelerators</Link>.
      </p>
    </>
  );
}

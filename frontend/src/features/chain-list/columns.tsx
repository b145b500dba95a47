import type { Chain } from '@orrery/contract';
import { sampleKey } from '@orrery/contract/sample-keys';
import { Link } from 'react-router';
import { chainPath } from '../../shared/api/chains.js';
import { ChainState } from '../../shared/chain/chain-state.js';
import { STATE_WORDS } from '../../shared/chain/state-words.js';
import { useSloRows } from '../../shared/stream/slo-rows.js';
import type { Column } from '../../shared/table/column.js';
import type { Question } from '../../shared/ui/confirm-dialog.js';
import { LiveRate } from '../../shared/ui/rate-text.js';
import { RelativeTime } from '../../shared/ui/relative-time.js';
import { Sparkline } from '../../shared/ui/sparkline.js';
import { type Status, StatusBadge } from '../../shared/ui/status-badge.js';
import classes from './chain-list.module.css';
import { filterTermsText } from './class-text.js';
import { RowActions } from './row-actions.js';

function countText({ nodes }: Chain['draft']): string {
  const count = nodes.filter((node) => node.kind === 'nf').length;
  return count === 1 ? '1 NF' : `${count} NFs`;
}

function SloSummary({ chain }: { readonly chain: Chain }) {
  const { rows } = useSloRows();
  const count = chain.draft.slos.length;
  if (count === 0) return <span className="muted">none</span>;
  if (chain.deployed_version === null) return <span className="muted">{count} set</span>;
  const slos = rows.filter((slo) => slo.chain_id === chain.id);
  const violated = slos.filter(({ state }) => state === 'violated').length;
  const met = slos.filter(({ state }) => state === 'met').length;
  const [status, label]: [Status, string] =
    violated > 0
      ? ['failed', `${violated} of ${slos.length} violated`]
      : slos.length > 0 && met === slos.length
        ? ['healthy', met === 1 ? 'met' : `all ${met} met`]
        : ['stale', 'no data'];
  return <StatusBadge state={status} status={status} label={label} />;
}

function versionText({ versions, deployed_version }: Chain): string {
  if (deployed_version) return `v${deployed_version} deployed`;
  return versions.length > 0 ? `v${Math.max(...versions.map(({ version }) => version))}` : 'draft';
}

const classText = ({ draft }: Chain) => `from ${draft.traffic_class.from.join(', ')}`;
const isActive = ({ deployment_state }: Chain) => deployment_state !== 'none';
const rateKey = ({ id }: Chain) => sampleKey('chain', id, 'pps');

export function chainColumns(ask: (question: Question) => void): readonly Column<Chain>[] {
  return [
    {
      id: 'chain',
      title: 'Chain',
      className: classes.name,
      value: ({ draft }) => `${draft.title} ${draft.name}`,
      cell: (chain) => (
        <>
          <Link to={chainPath(chain.id)}>{chain.draft.title}</Link>
          <span className="muted">
            {chain.draft.name} · {countText(chain.draft)}
          </span>
        </>
      ),
    },
    {
      id: 'class',
      title: 'Traffic class',
      className: classes.class,
      value: (chain) => `${classText(chain)} ${filterTermsText(chain.draft.traffic_class.match)}`,
      cell: (chain) => (
        <>
          <span>{classText(chain)}</span>
          <span className="muted">{filterTermsText(chain.draft.traffic_class.match) || 'all traffic'}</span>
        </>
      ),
    },
    {
      id: 'state',
      title: 'State',
      value: ({ deployment_state }) => STATE_WORDS[deployment_state],
      className: classes.state,
      cell: ({ id, deployment_state }) => <ChainState chainId={id} state={deployment_state} />,
    },
    {
      id: 'version',
      title: 'Version',
      className: classes.version,
      value: versionText,
      cell: (chain) => (
        <>
          <span>{versionText(chain)}</span>
          {chain.draft_differs && chain.versions.length > 0 && <span className="muted">draft has changes</span>}
        </>
      ),
    },
    {
      id: 'rate',
      title: 'Rate',
      sampleKey: (chain) => (isActive(chain) ? rateKey(chain) : null),
      cell: (chain) =>
        isActive(chain) ? (
          <span className={classes.rate}>
            <Sparkline sampleKey={rateKey(chain)} quantity="pps" label={`${chain.draft.title}, packets per second`} />
            <LiveRate sampleKey={rateKey(chain)} quantity="pps" />
          </span>
        ) : (
          <span className="muted">–</span>
        ),
    },
    { id: 'slos', title: 'Objectives', cell: (chain) => <SloSummary chain={chain} /> },
    {
      id: 'changed',
      title: 'Changed',
      className: `muted ${classes.changed}`,
      value: ({ updated_ms }) => updated_ms,
      cell: ({ updated_ms }) => <RelativeTime t_ms={updated_ms} />,
    },
    {
      id: 'description',
      title: 'Description',
      className: 'muted',
      value: ({ draft }) => draft.description,
      hidden: true,
    },
    { id: 'actions', title: 'Actions', untitled: true, cell: (chain) => <RowActions chain={chain} ask={ask} /> },
  ];
}

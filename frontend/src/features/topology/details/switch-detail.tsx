import type { NodeStatus, SwitchState } from '@orrery/contract';
import { sampleKey } from '@orrery/contract/sample-keys';
import { Link } from 'react-router';
import { chainPath, useChainTitle } from '../../../shared/api/chains.js';
import { useInfrastructure, useNfInstances, useSwitches } from '../../../shared/api/queries.js';
import { countText } from '../../../shared/format/number.js';
import { quantityText } from '../../../shared/format/quantity.js';
import {
  hasReached,
  installedText,
  isReportCurrent,
  switchHealth,
  usedShare,
} from '../../../shared/switches/switch-text.js';
import { DetailSection, Facts } from '../../../shared/ui/detail-panel.js';
import { LastKnown } from '../../../shared/ui/last-known.js';
import { LiveRate } from '../../../shared/ui/rate-text.js';
import { StatusBadge } from '../../../shared/ui/status-badge.js';
import type { Target } from '../frame.js';
import type { Scene, SceneNode } from '../model.js';
import { agentFacts } from './agent-facts.js';
import { DriverChoice } from './driver-choice.js';
import { LinkList, LinkRates, linksOf, receivedKey } from './links-of-node.js';
import { originFact } from './origin-fact.js';
import { ProgramChoice } from './program-choice.js';

interface SwitchDetailProps {
  readonly node: SceneNode;
  readonly status: NodeStatus | undefined;
  readonly scene: Scene;
  readonly onSelect: (target: Target) => void;
}

export function SwitchDetail({ node, status, scene, onSelect }: SwitchDetailProps) {
  const links = linksOf(node, scene);
  const state = useSwitches().data?.find(({ id }) => id === node.id);
  const defined = useInfrastructure().data?.switches.find(({ id }) => id === node.id);
  return (
    <>
      <Facts
        items={[
          [
            'Driver',
            defined?.origin === 'twin' ? (
              <DriverChoice key="driver" id={node.id} title={node.title} driver={defined.driver} />
            ) : (
              node.subtitle
            ),
          ],
          ...(defined?.origin === 'twin' && defined.driver !== 'ovs'
            ? [
                [
                  'P4 program',
                  <ProgramChoice
                    key={defined.program ?? ''}
                    id={node.id}
                    title={node.title}
                    program={defined.program ?? null}
                  />,
                ] as const,
              ]
            : []),
          ...(state ? tableFacts(state) : []),
          ...agentFacts(status, state && <DesiredEntries {...state} />),
          originFact(node.origin),
        ]}
      />
      <p className="muted">
        Rules and entries with their counters are on{' '}
        <Link to={`/switches?switch=${encodeURIComponent(node.id)}`}>Switches</Link>.
      </p>
      <SwitchNfs id={node.id} />
      <LinkRates
        title="Towards the switch"
        node={node}
        links={links}
        series={(link) => [{ key: receivedKey(link, node), label: link.a === node.id ? link.b : link.a }]}
      />
      <LinkList node={node} links={links} onSelect={onSelect} />
    </>
  );
}

/** The NFs that it runs for the packets that enter there. */
function SwitchNfs({ id }: { readonly id: string }) {
  const { data = [] } = useNfInstances();
  const titleOf = useChainTitle();
  const own = data.filter(({ driver, server }) => driver === 'switch' && server === id);
  if (own.length === 0) return null;
  return (
    <DetailSection title="NFs on the switch">
      <Facts
        items={own.map(({ id: instance, chain_id, node_id }) => [
          node_id,
          <span key={instance}>
            <Link to={chainPath(chain_id)}>{titleOf(chain_id)}</Link>:{' '}
            <LiveRate sampleKey={sampleKey('instance', instance, 'pps')} quantity="pps" inText /> in,{' '}
            <LiveRate sampleKey={sampleKey('instance', instance, 'drops_pps')} quantity="pps" inText /> dropped
          </span>,
        ])}
      />
    </DetailSection>
  );
}

/** Of the list of switches, which is read again and again: that a switch has reached its desired state has no event. */
function DesiredEntries(state: SwitchState) {
  const { planned, observed } = state;
  return (
    <span title={`generation ${observed?.generation ?? '–'} of ${planned?.generation ?? '–'}`}>
      <LastKnown word="" isOld={!state.connected}>
        {hasReached(state) ? 'reached' : 'not reached yet'}
      </LastKnown>
    </span>
  );
}

function tableFacts(state: SwitchState) {
  const { status, text } = switchHealth(state);
  const { description, planned, observed } = state;
  return [
    ['State', <StatusBadge key="state" state={text} status={status} />],
    ['Software', description?.software ?? '–'],
    [
      'Entries installed',
      <LastKnown key="installed" word="" isOld={!isReportCurrent(state) && observed !== null}>
        {installedText(state)}
      </LastKnown>,
    ],
    ['Table used', planned ? `${quantityText('share', usedShare(state))} of ${countText(planned.available)}` : '–'],
    ['Repairs', countText(observed?.repairs)],
  ] as const;
}

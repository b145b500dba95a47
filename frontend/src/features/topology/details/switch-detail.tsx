import type { NodeStatus, SwitchState } from '@orrery/contract';
import { Link } from 'react-router';
import { useInfrastructure, useSwitches } from '../../../shared/api/queries.js';
import { countText } from '../../../shared/format/number.js';
import { quantityText } from '../../../shared/format/quantity.js';
import { installedText, switchHealth, usedShare } from '../../../shared/switches/switch-text.js';
import { Facts } from '../../../shared/ui/detail-panel.js';
import { StatusBadge } from '../../../shared/ui/status-badge.js';
import type { Target } from '../draw.js';
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
              <DriverChoice key={defined.driver} id={node.id} title={node.title} driver={defined.driver} />
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
          ...agentFacts(status),
          originFact(node.origin),
        ]}
      />
      <p className="muted">
        Rules and entries with their counters are on{' '}
        <Link to={`/switches?switch=${encodeURIComponent(node.id)}`}>Switches</Link>.
      </p>
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

function tableFacts(state: SwitchState) {
  const { status, text } = switchHealth(state);
  const { description, planned, observed } = state;
  return [
    ['Table', <StatusBadge key="state" state={text} status={status} />],
    ['Software', description?.software ?? '–'],
    ['Entries installed', installedText(state)],
    ['Table used', planned ? `${quantityText('share', usedShare(state))} of ${countText(planned.available)}` : '–'],
    ['Repairs', countText(observed?.repairs)],
  ] as const;
}

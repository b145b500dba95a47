import { Facts } from '../../../shared/ui/detail-panel.js';
import type { Target } from '../frame.js';
import type { Scene, SceneNode } from '../model.js';
import { LinkList, LinkRates, linksOf, receivedKey, sentKey } from './links-of-node.js';
import { originFact } from './origin-fact.js';

interface HostDetailProps {
  readonly node: SceneNode;
  readonly scene: Scene;
  readonly onSelect: (target: Target) => void;
}

export function HostDetail({ node, scene, onSelect }: HostDetailProps) {
  const links = linksOf(node, scene);
  const named = (what: string, id: string) => (links.length > 1 ? `${what}, ${id}` : what);
  return (
    <>
      <Facts
        items={[
          ['Kind', `${node.role} host`],
          [node.addresses.length > 1 ? 'Addresses' : 'Address', node.addresses.join(', ')],
          originFact(node.origin),
        ]}
      />
      <LinkRates
        title="Sent and received"
        node={node}
        links={links}
        series={(link) => [
          { key: sentKey(link, node), label: named('sent', link.id) },
          { key: receivedKey(link, node), label: named('received', link.id) },
        ]}
      />
      <LinkList node={node} links={links} onSelect={onSelect} />
    </>
  );
}

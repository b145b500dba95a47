import { type AgentCapabilities, type ContainerImage, imageLack, type NodeStatus } from '@orrery/contract';
import { useNodes } from '../../shared/api/queries.js';
import { quantityText } from '../../shared/format/quantity.js';
import { DetailSection, Facts } from '../../shared/ui/detail-panel.js';
import { Tags } from './tags.js';

const PULLS: Readonly<Record<ContainerImage['pull'], string>> = {
  always: 'always, before a new configuration',
  'if-missing': 'if it is not there',
  never: 'never: it has to be there',
};

interface ImageDetailProps {
  readonly image: ContainerImage;
  /** A user named it. */
  readonly isOfUser: boolean;
}

/** The image that containers of an NF run, and which servers can. */
export function ImageDetail({ image, isOfUser }: ImageDetailProps) {
  const { data: nodes } = useNodes();
  const { reference, pull, forwarding, entrypoint, command, capabilities, limits, health, preserves } = image;
  const servers = (nodes ?? []).filter(({ kind, state }) => kind === 'server' && state === 'connected');
  return (
    <DetailSection title="Image">
      <Facts
        items={[
          ['Reference', <code key="reference">{reference}</code>],
          ['Pulled', PULLS[pull]],
          ['Forwarding', forwarding],
          ...(entrypoint ? [['Entry point', <code key="entrypoint">{entrypoint.join(' ')}</code>] as const] : []),
          ['Command', command ? <code key="command">{command.join(' ')}</code> : 'that of the image'],
          ['Rights', <Tags key="rights" items={capabilities} />],
          [
            'Limits',
            `${limits.cpus} ${limits.cpus === 1 ? 'core' : 'cores'}, ${quantityText('bytes', limits.memory_bytes)} of memory, ${limits.processes} processes`,
          ],
          ['Health', health ? healthText(health) : 'not checked'],
          ['Preserves', preserves.join(', ') || 'neither metadata nor ingress time'],
          ...servers.map(({ id, capabilities: told }) => [`On ${id}`, lackOn(told, image, isOfUser)] as const),
        ]}
      />
    </DetailSection>
  );
}

function lackOn(told: NodeStatus['capabilities'], image: ContainerImage, isOfUser: boolean): string {
  const { containers, legacy_nfs } = told as Partial<AgentCapabilities>;
  const lack = imageLack({ containers, legacy_nfs }, image, isOfUser);
  return lack === null ? 'can run' : `cannot run: ${lack}`;
}

function healthText(health: NonNullable<ContainerImage['health']>): string {
  const { by, interval_s, failures, restart_after_s } = health;
  const what = { command: 'a command', tcp: 'a TCP port', image: 'the check of the image' }[by];
  return `${what}, every ${interval_s} s; unhealthy after ${failures} failures, restarted after ${restart_after_s} s more`;
}

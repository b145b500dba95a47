import { Button } from '@mantine/core';
import type { AgentCapabilities, NfInstance } from '@orrery/contract';
import { lazy, Suspense, useState } from 'react';
import { useNodes } from '../../../shared/api/queries.js';
import { useNeeds } from '../../../shared/api/session.js';
import { DetailSection } from '../../../shared/ui/detail-panel.js';

const ShellDialog = lazy(() => import('../shell/shell-dialog.js'));

/** Why there is no shell in an instance; null: there can be one. */
export function shellLack(
  { driver, state, server }: Pick<NfInstance, 'driver' | 'state' | 'server'>,
  containers: Partial<NonNullable<AgentCapabilities['containers']>> | undefined,
  needs: string | null,
): string | null {
  if (driver !== 'container') return 'It runs in no container.';
  if (needs) return `${needs}.`;
  if (!containers?.shell) return `The agent of ${server} does not allow it (orrery-agent --nf-shell on).`;
  return state === 'running' ? null : 'It does not run.';
}

/** A way into the container of an instance, or why there is none. */
export function InstanceShell({ instance }: { readonly instance: NfInstance }) {
  const { data: nodes } = useNodes();
  const [isOpen, setOpen] = useState(false);
  const needs = useNeeds('admin');
  if (!nodes) return null;
  const node = nodes.find(({ id }) => id === instance.server);
  const lack = shellLack(instance, node?.capabilities.containers as AgentCapabilities['containers'], needs);
  return (
    <DetailSection title="Shell in its container">
      {lack === null || isOpen ? (
        <Button variant="default" onClick={() => setOpen(true)}>
          Open a shell…
        </Button>
      ) : (
        <p>{lack}</p>
      )}
      <Suspense fallback={null}>{isOpen && <ShellDialog id={instance.id} onClose={() => setOpen(false)} />}</Suspense>
    </DetailSection>
  );
}

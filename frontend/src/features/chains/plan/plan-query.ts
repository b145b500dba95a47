import type { Plan, PlanOptions } from '@orrery/contract';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useCallback, useEffect, useState } from 'react';
import { call, callFull } from '../../../shared/api/client.js';
import { useDeployments } from '../../../shared/api/queries.js';
import { useEditorContext } from '../editor/context.js';
import { useSaver } from '../editor/saver-context.js';

/** What is planned: the draft as it was saved at a moment. */
export interface Draft {
  readonly pipelineId: string;
  /** When it was saved; another moment means another plan, because other chains may run by then. */
  readonly saved_ms: number;
}

/** A plan with some options. Made once for the draft: back and forward, and the comparison, show the same plan again. */
export function planQuery({ pipelineId, saved_ms }: Draft, options: PlanOptions) {
  return {
    queryKey: ['plan-preview', pipelineId, saved_ms, options],
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
    queryFn: ({ signal }: { signal: AbortSignal }) => {
      const body = { pipelines: [{ pipeline_id: pipelineId }], remove: [], ...options };
      return call('createPlan', { body }, { signal, idempotencyKey: crypto.randomUUID() });
    },
  };
}

interface SavedDraft {
  readonly draft: Draft | null;
  readonly revision: number | null;
  /** The draft could not be saved, so that it cannot be planned. */
  readonly failed: boolean;
  /** Saves what is not saved and plans that. */
  readonly again: () => void;
}

/** Saves the draft when the page opens; a plan is made of what the server has. */
export function useSavedDraft(): SavedDraft {
  const { pipeline } = useEditorContext();
  const saver = useSaver();
  const [round, setRound] = useState(0);
  const [state, setState] = useState<{ draft: Draft | null; revision: number | null; failed: boolean }>({
    draft: null,
    revision: null,
    failed: false,
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: `round` asks for another one
  useEffect(() => {
    let left = false;
    void saver.flush().then((saved) => {
      if (left) return;
      const draft = { pipelineId: pipeline.id, saved_ms: Date.now() };
      setState(
        saved ? { draft, revision: saver.revision, failed: false } : { draft: null, revision: null, failed: true },
      );
    });
    return () => {
      left = true;
    };
  }, [pipeline.id, saver, round]);
  return { ...state, again: useCallback(() => setRound((before) => before + 1), []) };
}

/** The plan with some options; the one before stands, as a placeholder, until the new one is there. */
export function usePlanPreview(draft: Draft | null, options: PlanOptions) {
  const off = { pipelineId: '', saved_ms: 0 };
  return useQuery({ ...planQuery(draft ?? off, options), enabled: draft !== null, placeholderData: keepPreviousData });
}

/** Why the plan would be another one now; null as long as it would not. */
export function useStaleness(plan: Plan | undefined, revision: number | null): string | null {
  const { pipeline } = useEditorContext();
  const { data: deployments } = useDeployments();
  const { data: infrastructure } = useQuery({
    queryKey: ['infrastructure', 'revision'],
    queryFn: async ({ signal }) => revisionOf((await callFull('getInfrastructure', {}, { signal })).etag),
  });
  if (!plan || revision === null) return null;
  if (pipeline.revision > revision) return 'The draft was changed since.';
  if (infrastructure !== undefined && infrastructure > plan.infrastructure_revision)
    return 'The infrastructure was changed since.';
  if (!deployments) return null;
  const others = deployments.filter(({ pipeline_id, state }) => pipeline_id !== pipeline.id && state !== 'undeploying');
  const planned = plan.pipelines.filter(({ pipeline_id }) => pipeline_id !== pipeline.id);
  // What runs was planned as a draft, version 0, by whoever deployed a draft and published it with that.
  const same =
    others.length === planned.length &&
    planned.every(({ pipeline_id, version }) =>
      others.some((other) => other.pipeline_id === pipeline_id && (version === 0 || other.version === version)),
    );
  return same ? null : 'Other chains were deployed or taken down since.';
}

/** The number in an ETag such as `"12"`; 0 for none. */
function revisionOf(etag: string | null): number {
  return Number(/\d+/.exec(etag ?? '')?.[0] ?? 0);
}

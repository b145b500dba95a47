import type { DeploymentOptions, Plan, PlanOptions } from '@orrery/contract';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useCallback, useEffect, useRef, useState } from 'react';
import { call, callFull } from '../../shared/api/client.js';
import { useDeployments, usePlan } from '../../shared/api/queries.js';
import { useEditorContext } from '../../shared/chain-draft/context.js';
import { useSaver } from '../../shared/chain-draft/saver-context.js';
import { stalenessOf } from './staleness.js';

/** What is planned: the draft as saved at a certain time. */
export interface Draft {
  readonly chainId: string;
  /** When it was saved; a different time means a new plan, because other chains may run by then. */
  readonly saved_ms: number;
}

/** Plan options of a draft. */
export interface Asked {
  readonly options: PlanOptions;
  readonly deployment: DeploymentOptions;
}

/** A deployable plan with the given options. Made once per draft: back and forward show the same plan. */
export function planQuery(draft: Draft, asked: Asked) {
  return {
    ...ONCE,
    queryKey: ['plan', draft.chainId, draft.saved_ms, asked],
    queryFn: ({ signal }: { signal: AbortSignal }) =>
      call('createPlan', { body: bodyOf(draft, asked) }, { signal, idempotencyKey: crypto.randomUUID() }),
  };
}

/** A plan for comparison, which the server does not store. */
export function previewQuery(draft: Draft, asked: Asked) {
  return {
    ...ONCE,
    queryKey: ['plan-preview', draft.chainId, draft.saved_ms, asked],
    queryFn: ({ signal }: { signal: AbortSignal }) => call('previewPlan', { body: bodyOf(draft, asked) }, { signal }),
  };
}

/** Not even after the stream was interrupted: a plan on the page does not change under its reader. */
const ONCE = { staleTime: 'static', retry: false } as const;

function bodyOf({ chainId }: Draft, { options, deployment }: Asked) {
  return { chains: [{ chain_id: chainId, ...deployment }], ...options };
}

interface SavedDraft {
  readonly draft: Draft | null;
  readonly revision: number | null;
  /** The draft could not be saved, so it cannot be planned. */
  readonly failed: boolean;
  /** Saves unsaved changes, then plans. */
  readonly again: () => void;
}

/** Saves the draft when the page opens, because the server plans its stored copy. */
export function useSavedDraft(): SavedDraft {
  const { chain } = useEditorContext();
  const saver = useSaver();
  const newest = useRef(0);
  const [state, setState] = useState<{ draft: Draft | null; revision: number | null; failed: boolean }>({
    draft: null,
    revision: null,
    failed: false,
  });
  const again = useCallback(() => {
    const mine = ++newest.current;
    void saver.flush().then((saved) => {
      if (mine !== newest.current) return;
      const draft = { chainId: chain.id, saved_ms: Date.now() };
      setState(
        saved ? { draft, revision: saver.revision, failed: false } : { draft: null, revision: null, failed: true },
      );
    });
  }, [chain.id, saver]);
  useEffect(() => {
    again();
    return () => {
      newest.current++;
    };
  }, [again]);
  return { ...state, again };
}

/** The plan with the given options; the previous one is a placeholder until the new one arrives. */
export function usePlanPreview(draft: Draft | null, asked: Asked) {
  const off = { chainId: '', saved_ms: 0 };
  return useQuery({ ...planQuery(draft ?? off, asked), enabled: draft !== null, placeholderData: keepPreviousData });
}

/** Why the plan is out of date; null if it is not. */
export function useStaleness(plan: Plan | undefined, revision: number | null): string | null {
  const { chain } = useEditorContext();
  const { data: deployments } = useDeployments();
  const own = deployments?.find(({ chain_id }) => chain_id === chain.id);
  const { data: inForce } = usePlan(own?.plan_id);
  const { data: base } = usePlan(plan?.base_plan);
  const { data: infrastructure } = useQuery({
    queryKey: ['infrastructure', 'revision'],
    queryFn: async ({ signal }) => revisionOf((await callFull('getInfrastructure', {}, { signal })).etag),
  });
  if (!plan || revision === null) return null;
  const revisions = { planned: revision, now: chain.revision };
  return stalenessOf({ plan, chainId: chain.id, revisions, infrastructure, deployments, inForce, base });
}

/** The number in an ETag such as `"12"`; 0 for none. */
function revisionOf(etag: string | null): number {
  return Number(/\d+/.exec(etag ?? '')?.[0] ?? 0);
}

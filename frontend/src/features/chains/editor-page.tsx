import type { NfInstance } from '@orrery/contract';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { ReactFlowProvider } from '@xyflow/react';
import { lazy, Suspense, useDeferredValue, useEffect, useMemo, useState } from 'react';
import { Navigate, Route, Routes, useParams } from 'react-router';
import { createStore, useStore } from 'zustand';
import { diffDefinitions } from '../../editor-model/diff.js';
import { withPositions } from '../../editor-model/edit.js';
import { check } from '../../editor-model/problems.js';
import { chainPath } from '../../shared/api/chains.js';
import { ApiError, callFull } from '../../shared/api/client.js';
import {
  useInfrastructure,
  useNfDescriptors,
  useNfInstances,
  usePipeline,
  versionQuery,
} from '../../shared/api/queries.js';
import { useMay } from '../../shared/api/session.js';
import { useStreamStatus, useWantSamples } from '../../shared/stream/hooks.js';
import { ErrorState, LoadingRows, QueryBoundary } from '../../shared/ui/states.js';
import { type Derived, EditorContext, type EditorContextValue } from './editor/context.js';
import { DraftSaver } from './editor/draft-saver.js';
import { SaverContext } from './editor/saver-context.js';
import { createEditorStore } from './editor/store.js';
import { useOtherChains } from './editor/use-other-chains.js';
import { Workbench } from './editor/workbench.js';

const PlanPage = lazy(() => import('./plan/plan-page.js'));

type Loaded = NonNullable<ReturnType<typeof usePipeline>['data']>;

export default function EditorPage() {
  const { id } = useParams();
  const loaded = usePipeline(id);
  const descriptors = useNfDescriptors();
  if (!loaded.data) {
    return loaded.error ? <ErrorState error={loaded.error} retry={() => void loaded.refetch()} /> : <LoadingRows />;
  }
  return (
    <QueryBoundary query={descriptors}>
      <ReactFlowProvider key={id}>
        <Editor loaded={loaded.data} deleted={isGone(loaded.error)} />
      </ReactFlowProvider>
    </QueryBoundary>
  );
}

const NOTHING_DERIVED: Derived = {
  problems: { all: [], errors: 0, warnings: 0, byNode: new Map(), byEdge: new Map() },
  placed: new Map(),
  deployed: null,
  differences: [],
};

function instancesByNode(instances: readonly NfInstance[], pipelineId: string): Derived['placed'] {
  const byNode = new Map<string, NfInstance[]>();
  for (const instance of instances) {
    if (instance.pipeline_id !== pipelineId) continue;
    byNode.set(instance.node_id, [...(byNode.get(instance.node_id) ?? []), instance]);
  }
  return byNode;
}

const isGone = (error: unknown) => error instanceof ApiError && error.status === 404;

function Editor({ loaded, deleted }: { readonly loaded: Loaded; readonly deleted: boolean }) {
  const { pipeline } = loaded;
  const { id } = pipeline;
  const { store, saver } = useEditorSession(loaded);
  useEffect(() => {
    if (deleted) saver.deleted();
  }, [deleted, saver]);
  const definition = useStore(store, (state) => state.definition);
  const { data: descriptors = [] } = useNfDescriptors();
  const { data: infrastructure = null } = useInfrastructure();
  const { data: instances } = useNfInstances();
  const mayDesign = useMay('designer');
  const deployed = useDeployedDefinition(id, pipeline.deployed_version);
  const others = useOtherChains(id);
  useWantSamples([`pipeline/${id}/`, `instance/${deployed?.name ?? definition.name}.`]);

  // Checked when nothing more urgent is to do: a keystroke in a large chain is shown before it is judged.
  const settled = useDeferredValue(definition);
  const [derived] = useState(() => createStore<Derived>(() => NOTHING_DERIVED));
  useEffect(() => {
    const { problems } = derived.getState();
    const context = { descriptors, hosts: infrastructure?.hosts ?? [], others };
    derived.setState({ problems: check(settled, context, problems) });
  }, [derived, settled, descriptors, infrastructure, others]);
  useEffect(() => {
    derived.setState({ deployed, differences: deployed ? diffDefinitions(deployed, settled) : [] });
  }, [derived, settled, deployed]);
  useEffect(() => derived.setState({ placed: instancesByNode(instances ?? [], id) }), [derived, instances, id]);

  const context: EditorContextValue = useMemo(
    () => ({ store, derived, pipeline, descriptors, infrastructure, readOnly: !mayDesign }),
    [store, derived, pipeline, descriptors, infrastructure, mayDesign],
  );
  return (
    <EditorContext value={context}>
      <SaverContext value={saver}>
        <Routes>
          <Route index element={<Workbench />} />
          <Route
            path="plan"
            element={
              <Suspense fallback={<LoadingRows />}>
                <PlanPage />
              </Suspense>
            }
          />
          <Route path="*" element={<Navigate to={chainPath(id)} replace />} />
        </Routes>
      </SaverContext>
    </EditorContext>
  );
}

/** The editor's store and its saver, which live as long as the page shows this pipeline. */
function useEditorSession(loaded: Loaded) {
  const queries = useQueryClient();
  const { id } = loaded.pipeline;
  const [session] = useState(() => {
    const draft = withPositions(loaded.pipeline.draft);
    const initial = { pipeline: { ...loaded.pipeline, draft }, etag: loaded.etag ?? '' };
    const store = createEditorStore(draft);
    const remember = (answer: Awaited<ReturnType<typeof callFull<'getPipeline'>>>) => {
      queries.setQueryData(['pipelines', 'one', id], { pipeline: answer.data, etag: answer.etag });
      return { pipeline: answer.data, etag: answer.etag ?? '' };
    };
    const open = () =>
      new DraftSaver(
        store,
        {
          put: async (body, ifMatch) => remember(await callFull('putPipeline', { params: { id }, body }, { ifMatch })),
          get: async () => remember(await callFull('getPipeline', { params: { id } })),
          after: (ms, work) => {
            const timer = setTimeout(work, ms);
            return () => clearTimeout(timer);
          },
          now: () => Date.now(),
        },
        initial,
      );
    return { store, saver: open() };
  });
  const { saver, store } = session;
  useEffect(() => {
    saver.start();
    const warn = (event: BeforeUnloadEvent) => {
      if (saver.dirty || store.getState().unapplied !== null) event.preventDefault();
    };
    window.addEventListener('beforeunload', warn);
    return () => {
      window.removeEventListener('beforeunload', warn);
      saver.stop();
    };
  }, [saver, store]);
  const { etag } = loaded;
  useEffect(() => {
    if (etag) saver.observe({ pipeline: loaded.pipeline, etag });
  }, [saver, loaded, etag]);
  const connected = useStreamStatus((status) => status.state === 'connected');
  useEffect(() => {
    if (connected) saver.retry();
  }, [connected, saver]);
  return session;
}

/** The definition that runs. */
function useDeployedDefinition(id: string, version: number | null) {
  const { data } = useQuery(versionQuery(id, version));
  return version === null ? null : (data?.definition ?? null);
}

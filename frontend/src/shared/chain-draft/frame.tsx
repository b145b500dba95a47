import { Button } from '@mantine/core';
import type { NfInstance } from '@orrery/contract';
import { instancesPrefix, samplePrefix } from '@orrery/contract/sample-keys';
import { useQuery } from '@tanstack/react-query';
import { useDeferredValue, useEffect, useMemo, useState } from 'react';
import { Link, Outlet, useParams } from 'react-router';
import { createStore, useStore } from 'zustand';
import { diffDefinitions, same } from '../../editor-model/diff.js';
import { withPositions } from '../../editor-model/edit.js';
import { check } from '../../editor-model/problems.js';
import { ApiError } from '../api/client.js';
import { useChain, useInfrastructure, useNfDescriptors, useNfInstances, versionQuery } from '../api/queries.js';
import { useMay } from '../api/session.js';
import { useSeededSamples } from '../stream/seed.js';
import { EmptyState, ErrorState, LoadingRows, QueryBoundary } from '../ui/states.js';
import { type Derived, EditorContext, type EditorContextValue } from './context.js';
import { type LoadedChain, useDraftSession } from './draft-session.js';
import { SaverContext } from './saver-context.js';
import { useOtherChains } from './use-other-chains.js';

/**
 * Loads the chain in the URL and provides its draft to the pages of the chain, once the catalogue and the hosts are known that
 * it is checked against: without them, correct references would be errors.
 */
export function Component() {
  const { id } = useParams();
  const loaded = useChain(id);
  const descriptors = useNfDescriptors();
  const infrastructure = useInfrastructure();
  if (!loaded.data) {
    if (isGone(loaded.error)) return <NoChain />;
    return loaded.error ? <ErrorState error={loaded.error} retry={() => void loaded.refetch()} /> : <LoadingRows />;
  }
  return (
    <QueryBoundary query={descriptors}>
      <QueryBoundary query={infrastructure}>
        <Draft key={id} loaded={loaded.data} deleted={isGone(loaded.error)} />
      </QueryBoundary>
    </QueryBoundary>
  );
}

function NoChain() {
  const action = (
    <Button component={Link} to="/chains" variant="default">
      All chains
    </Button>
  );
  return (
    <EmptyState title="There is no such chain" action={action}>
      It has been deleted, or the address is wrong.
    </EmptyState>
  );
}

const NOTHING_DERIVED: Derived = {
  problems: { all: [], errors: 0, warnings: 0, byNode: new Map(), byEdge: new Map() },
  untouched: true,
  placed: new Map(),
  deployed: null,
  differences: [],
};

function instancesByNode(instances: readonly NfInstance[], chainId: string): Derived['placed'] {
  const byNode = new Map<string, NfInstance[]>();
  for (const instance of instances) {
    if (instance.chain_id !== chainId) continue;
    byNode.set(instance.node_id, [...(byNode.get(instance.node_id) ?? []), instance]);
  }
  return byNode;
}

const isGone = (error: unknown) => error instanceof ApiError && error.status === 404;

function Draft({ loaded, deleted }: { readonly loaded: LoadedChain; readonly deleted: boolean }) {
  const { chain } = loaded;
  const { id } = chain;
  const { store, saver } = useDraftSession(loaded);
  useEffect(() => {
    if (deleted) saver.deleted();
  }, [deleted, saver]);
  const definition = useStore(store, (state) => state.definition);
  const { data: descriptors = [] } = useNfDescriptors();
  const { data: infrastructure = null } = useInfrastructure();
  const { data: instances } = useNfInstances();
  const mayDesign = useMay('designer');
  const deployed = useDeployedDefinition(id, chain.deployed_version);
  const others = useOtherChains(id);
  useSeededSamples([samplePrefix('chain', id), instancesPrefix(deployed?.name ?? definition.name)]);

  // Deferred: a keystroke in a large chain is rendered before it is validated.
  const settled = useDeferredValue(definition);
  const [derived] = useState(() => createStore<Derived>(() => NOTHING_DERIVED));
  useEffect(() => {
    const { problems } = derived.getState();
    const context = { descriptors, hosts: infrastructure?.hosts ?? [], others };
    const empty = settled.nodes.every(({ kind }) => kind !== 'nf');
    const untouched = empty && chain.revision === 1 && same(settled, withPositions(chain.draft));
    derived.setState({ problems: check(settled, context, problems), untouched });
  }, [derived, settled, descriptors, infrastructure, others, chain]);
  useEffect(() => {
    derived.setState({ deployed, differences: deployed ? diffDefinitions(deployed, settled) : [] });
  }, [derived, settled, deployed]);
  useEffect(() => derived.setState({ placed: instancesByNode(instances ?? [], id) }), [derived, instances, id]);

  const context: EditorContextValue = useMemo(
    () => ({ store, derived, chain, descriptors, infrastructure, readOnly: !mayDesign }),
    [store, derived, chain, descriptors, infrastructure, mayDesign],
  );
  return (
    <EditorContext value={context}>
      <SaverContext value={saver}>
        <Outlet />
      </SaverContext>
    </EditorContext>
  );
}

/** The definition that runs. */
function useDeployedDefinition(id: string, version: number | null) {
  const { data } = useQuery(versionQuery(id, version));
  return version === null ? null : (data?.definition ?? null);
}

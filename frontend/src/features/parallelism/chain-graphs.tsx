import { type ChainDefinition, nfInstances } from '@orrery/contract';
import { samplePrefix } from '@orrery/contract/sample-keys';
import { useMemo } from 'react';
import { useNfDescriptors } from '../../shared/api/queries.js';
import { Panel } from '../../shared/page/page-header.js';
import { type Critical, criticalOf } from '../../shared/parallel/critical-path.js';
import { type Drawing, layoutGraph } from '../../shared/parallel/graph-layout.js';
import { EndMark, GraphView, JOINT_SIZE, JointMark } from '../../shared/parallel/graph-view.js';
import { jointsOf } from '../../shared/parallel/joints.js';
import { wayText } from '../../shared/plan/plan-text.js';
import { useSeededSamples } from '../../shared/stream/seed.js';
import { EmptyState, LoadingRows } from '../../shared/ui/states.js';
import { NfBox, placeText } from './nf-box.js';
import { type NfTexts, nfSize } from './nf-size.js';
import classes from './parallelism.module.css';
import { shownPlan } from './shown-plan.js';
import { drawnGraph, runGraph, type StepGraph, type StepVertex } from './step-graph.js';
import type { KnownChain } from './use-chains.js';

type Nf = Extract<StepVertex, { kind: 'nf' }>;
type Sized = StepVertex & { readonly width: number; readonly height: number };

const NO_PATH: Critical = { vertices: new Set(), links: new Set() };
const END_SIZE = { width: 26, height: 20 } as const;

function layout({ vertices, links }: StepGraph, textsOf: (vertex: Nf) => NfTexts): Drawing<Sized> {
  const sizeOf = (vertex: StepVertex) =>
    vertex.kind === 'nf' ? nfSize(textsOf(vertex)) : vertex.kind === 'end' ? END_SIZE : JOINT_SIZE;
  return layoutGraph({ vertices: vertices.map((vertex) => ({ ...vertex, ...sizeOf(vertex) })), links });
}

/** What the box of an NF shows, with its place and without. */
function useTexts(definition: ChainDefinition) {
  const { data: descriptors } = useNfDescriptors();
  return useMemo(() => {
    const texts = ({ node, nf, instances }: Nf, isPlaced: boolean): NfTexts => ({
      name: definition.nodes.find(({ id }) => id === node)?.title ?? node,
      kind: descriptors?.find(({ id }) => id === nf)?.title ?? nf,
      place: isPlaced ? placeText(instances) : null,
    });
    return { plain: (vertex: Nf) => texts(vertex, false), placed: (vertex: Nf) => texts(vertex, true) };
  }, [definition, descriptors]);
}

/** The chain as drawn, beside the chain as it runs or would run in parallel. */
export function ChainGraphs({ chain }: { readonly chain: KnownChain }) {
  const { row, plan } = chain;
  const { definition } = row;
  const shown = shownPlan(chain);
  const running = row.deployment !== null;
  const texts = useTexts(definition);
  const drawn = useMemo(() => {
    const instances = nfInstances(plan?.graph).filter(({ chain_id }) => chain_id === row.id);
    return layout(drawnGraph(definition, instances), texts.plain);
  }, [definition, plan, row.id, texts]);
  const shownAs = shown?.plan;
  const { runs, critical } = useMemo(() => {
    if (!shownAs) return { runs: null, critical: NO_PATH };
    const graph = runGraph(shownAs, row.id);
    const own = shownAs.parallel.filter(({ chain_id }) => chain_id === row.id);
    const paths = own.map(({ critical_path }) => criticalOf(graph, critical_path));
    return {
      runs: layout(graph, texts.placed),
      critical: {
        vertices: new Set(paths.flatMap(({ vertices }) => [...vertices])),
        links: new Set(paths.flatMap(({ links }) => [...links])),
      },
    };
  }, [shownAs, row.id, texts]);
  useSeededSamples(
    running
      ? definition.nodes.flatMap(({ kind, id }) =>
          kind === 'nf' ? [samplePrefix('nf', `${definition.name}.${id}`)] : [],
        )
      : [],
  );
  const parallel = shown !== null && jointsOf(shown.plan, row.id).length > 0;
  const path = shown?.forms[0]?.critical_path ?? [];
  return (
    <div className={classes.graphs}>
      <div className={classes.graph} style={{ flexBasis: drawn.width + 24 }}>
        <Panel title="As drawn" flush>
          <Graph
            label={`${row.title} as drawn`}
            drawing={drawn}
            critical={NO_PATH}
            definition={definition}
            live={running}
            textsOf={texts.plain}
          />
        </Panel>
      </div>
      <div className={classes.graph} style={{ flexBasis: (runs?.width ?? 400) + 24 }}>
        <Panel
          title={!shown || shown.runs ? 'As it runs' : parallel ? 'As it would run in parallel' : 'As it would run'}
          actions={
            <>
              {parallel && <span className="muted">The critical path is marked.</span>}
              {shown && !shown.runs && <span className={classes.label}>predicted</span>}
            </>
          }
          flush
        >
          {runs ? (
            <Graph
              label={`${row.title}, ${shown!.forms.map(({ text }) => text).join('; ') || 'in sequence'}; critical path ${wayText(path)}`}
              drawing={runs}
              critical={parallel ? critical : NO_PATH}
              definition={definition}
              live={shown!.runs}
              textsOf={texts.placed}
            />
          ) : chain.in.parallel.isPending ? (
            <LoadingRows rows={3} />
          ) : (
            <EmptyState title="Not planned">
              {running ? 'The plan that it runs by is not known.' : 'It is not deployed.'}
            </EmptyState>
          )}
        </Panel>
      </div>
    </div>
  );
}

interface GraphProps {
  readonly label: string;
  readonly drawing: Drawing<Sized>;
  readonly critical: Critical;
  readonly definition: ChainDefinition;
  /** With live rates and states: it runs so. */
  readonly live: boolean;
  readonly textsOf: (vertex: Nf) => NfTexts;
}

function Graph({ label, drawing, critical, definition, live, textsOf }: GraphProps) {
  return (
    <GraphView label={label} drawing={drawing} critical={critical}>
      {(vertex) => {
        if (vertex.kind === 'end') return <EndMark name={vertex.name} />;
        if (vertex.kind !== 'nf')
          return (
            <JointMark kind={vertex.kind}>
              {vertex.kind} <span className="sr-only">{`${vertex.id} on ${vertex.joint.server}`}</span>
            </JointMark>
          );
        return <NfBox vertex={vertex} definition={definition} texts={textsOf(vertex)} live={live} />;
      }}
    </GraphView>
  );
}

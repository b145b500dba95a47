import type { Pipeline, Plan } from '@orrery/contract';
import type { Scene } from './model.js';

/** One edge of a chain between what is drawn: instances, or hosts and switches where it begins and ends. */
export interface OverlayEdge {
  readonly id: string;
  readonly from: { readonly chip: string } | { readonly node: string };
  readonly to: { readonly chip: string } | { readonly node: string };
  readonly rate_bps: number;
  /** Leaves its server: carried by the switch. */
  readonly cut: boolean;
}

/** Where one chain runs. */
export interface Overlay {
  readonly pipelineId: string;
  readonly edges: readonly OverlayEdge[];
  readonly chips: ReadonlySet<string>;
  readonly nodes: ReadonlySet<string>;
  readonly links: ReadonlySet<string>;
}

/** The path of a pipeline by the plan that runs, over what the scene has. */
export function overlayOf(scene: Scene, plan: Plan, pipeline: Pipeline): Overlay {
  const ofPipeline = new Map(
    plan.instances.filter(({ pipeline_id }) => pipeline_id === pipeline.id).map((instance) => [instance.id, instance]),
  );
  const planned = plan.pipelines.find(({ pipeline_id }) => pipeline_id === pipeline.id);
  const sources = (planned?.definition ?? pipeline.draft).traffic_class.from.filter((id) => scene.nodes.has(id));
  const switches = [...scene.nodes.values()].filter(({ kind }) => kind === 'switch').map(({ id }) => id);
  const exit = switches[0];
  const edges: OverlayEdge[] = [];
  for (const edge of plan.edges) {
    const from = edge.from === null ? null : ofPipeline.get(edge.from);
    const to = edge.to === null ? null : ofPipeline.get(edge.to);
    if (from === undefined || to === undefined || (from === null && to === null)) continue;
    const base = { rate_bps: edge.rate_bps, cut: edge.crosses_switch };
    if (from === null) {
      for (const host of sources) {
        edges.push({ ...base, id: `${edge.id} ${host}`, from: { node: host }, to: { chip: to!.id }, cut: true });
      }
    } else if (to === null) {
      if (exit) edges.push({ ...base, id: edge.id, from: { chip: from.id }, to: { node: exit }, cut: true });
    } else {
      edges.push({ ...base, id: edge.id, from: { chip: from.id }, to: { chip: to.id } });
    }
  }
  const drawn = edges.filter(({ from, to }) =>
    [from, to].every((end) => !('chip' in end) || scene.serverOfInstance.has(end.chip)),
  );
  const servers = new Set([...ofPipeline.values()].map(({ server }) => server));
  const nodes = new Set([...servers, ...sources, ...switches]);
  const links = new Set(
    [...scene.links.values()].filter(({ a, b }) => nodes.has(a) && nodes.has(b)).map(({ id }) => id),
  );
  return { pipelineId: pipeline.id, edges: drawn, chips: new Set(ofPipeline.keys()), nodes, links };
}

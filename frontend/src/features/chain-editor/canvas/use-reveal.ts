import { useReactFlow } from '@xyflow/react';
import { useEffect } from 'react';
import { useEditor, useEditorContext } from '../../../shared/chain-draft/context.js';
import { SMALL_CHAIN } from '../actions/use-editor-actions.js';

/** Brings the requested node or edge into view, and focuses it. */
export function useReveal(): void {
  const { store } = useEditorContext();
  const reveal = useEditor((state) => state.reveal);
  const flow = useReactFlow();
  useEffect(() => {
    if (!reveal) return;
    const { definition } = store.getState();
    const edge = reveal.edge ? definition.edges.find((each) => each.id === reveal.edge) : undefined;
    const ids = edge ? [edge.from, edge.to] : reveal.node ? [reveal.node] : [];
    const pane = document.querySelector('.react-flow')?.getBoundingClientRect();
    const frame = requestAnimationFrame(() => {
      const outside = ids.some((id) => {
        const box = document.querySelector(`.react-flow__node[data-id="${id}"]`)?.getBoundingClientRect();
        return (
          !box ||
          !pane ||
          box.left < pane.left ||
          box.right > pane.right ||
          box.top < pane.top ||
          box.bottom > pane.bottom
        );
      });
      if (!outside) return;
      // The whole chain if it is readable that way, otherwise the requested element.
      const small = flow.getNodes().length <= SMALL_CHAIN;
      void flow.fitView({
        nodes: small ? undefined : ids.map((id) => ({ id })),
        padding: small ? 0.08 : 0.4,
        duration: 120,
        minZoom: 0.4,
        maxZoom: 1,
      });
    });
    return () => cancelAnimationFrame(frame);
  }, [reveal, store, flow]);
}

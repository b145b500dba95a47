import { Fragment } from 'react';

/** A name such as `web.ids.0`, which breaks behind its points, but not before its number, before it breaks within a word; in full as a tooltip. */
export function BrokenName({ name }: { readonly name: string }) {
  const parts = name.split(/(?<=[.:/])(?!\d+$)/);
  return (
    <span title={name}>
      {parts.map((part, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: parts have no identity but their place
        <Fragment key={index}>
          {index > 0 && <wbr />}
          {part}
        </Fragment>
      ))}
    </span>
  );
}

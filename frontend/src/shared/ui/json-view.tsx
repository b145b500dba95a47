import classes from './json-view.module.css';

/** A value as indented JSON that can be selected and scrolled. */
export function JsonView({ value, label }: { readonly value: unknown; readonly label: string }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
    <section className={classes.json} tabIndex={0} aria-label={label}>
      <pre>{JSON.stringify(value, null, 2)}</pre>
    </section>
  );
}

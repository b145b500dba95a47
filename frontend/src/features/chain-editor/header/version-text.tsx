import { useDerived, useEditorContext } from '../../../shared/chain-draft/context.js';
import classes from './editor-header.module.css';

/** The deployed or newest version, and how many changes are not deployed. */
export function VersionText() {
  const { chain } = useEditorContext();
  const differences = useDerived((derived) => derived.differences);
  const newest = chain.versions.reduce((most, { version }) => Math.max(most, version), 0);
  const deployed = chain.deployed_version;
  const text = deployed ? `v${deployed}` : newest ? `v${newest} published` : 'draft';
  const changes = deployed && differences.length > 0 ? `, ${differences.length} undeployed` : '';
  return <span className={classes.version}>{text + changes}</span>;
}

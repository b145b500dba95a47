import ts from 'typescript';

/** Time stamps of the contract and of wire messages are wall-clock times, wherever they come from. */
const STAMPS = new Set(['t_ms']);
const ARITHMETIC = new Set([
  ts.SyntaxKind.MinusToken,
  ts.SyntaxKind.PlusToken,
  ts.SyntaxKind.LessThanToken,
  ts.SyntaxKind.LessThanEqualsToken,
  ts.SyntaxKind.GreaterThanToken,
  ts.SyntaxKind.GreaterThanEqualsToken,
]);
/** Names of parameters that take a point in time. */
const TIME = /^now$|^(now|at|t|time|from|since|until)_?ms$/i;

/**
 * Where sums, differences and comparisons are made with the wall clock: with `Date.now()` itself, a variable, parameter
 * or property that was given it, or a time stamp. `texts`: TypeScript by file. Returns `[{ file, line, isPassed }]`, `line`
 * being the text. Functions are known by name, so a call marks the parameters of all that are called so. `isPassed`: the
 * clock itself is an argument or the value of a property, so what is computed with it is not known.
 */
export function wallClockUses(texts) {
  const files = Object.entries(texts).map(([file, text]) => new File(file, text));
  const functions = new Map();
  for (const { nodes } of files)
    for (const node of nodes) {
      const name = ts.isFunctionLike(node) ? nameOf(node) : null;
      if (name) functions.set(name, [...(functions.get(name) ?? []), node]);
    }
  const marked = new Set();
  for (let before = -1; before < marked.size; ) {
    before = marked.size;
    for (const file of files) file.follow(functions, marked);
  }
  return files.flatMap((file) => [...file.arithmetic(marked), ...file.passed()]);
}

/** One source file; what is marked is a declaration (parameter or variable), or `<file> <property>`. */
class File {
  constructor(name, text) {
    this.name = name;
    this.source = ts.createSourceFile(name, text, ts.ScriptTarget.Latest, true);
    this.nodes = [];
    const visit = (node) => {
      this.nodes.push(node);
      ts.forEachChild(node, visit);
    };
    visit(this.source);
  }

  follow(functions, marked) {
    for (const node of this.nodes) {
      const isGiven = ts.isVariableDeclaration(node) || ts.isParameter(node) || ts.isPropertyDeclaration(node);
      if (isGiven && node.initializer && this.isWall(node.initializer, marked))
        marked.add(ts.isPropertyDeclaration(node) ? this.property(node.name) : node);
      const isAssigned = ts.isBinaryExpression(node) && node.operatorToken.kind === ts.SyntaxKind.EqualsToken;
      if (isAssigned && this.isWall(node.right, marked)) {
        const declared = ts.isIdentifier(node.left) ? declarationOf(node.left) : null;
        if (declared) marked.add(declared);
        else if (ts.isPropertyAccessExpression(node.left)) marked.add(this.property(node.left.name));
      }
      if (ts.isCallExpression(node)) this.#pass(node, functions, marked);
    }
  }

  #pass(call, functions, marked) {
    const name = call.expression.name?.text ?? call.expression.text;
    for (const [index, argument] of call.arguments.entries()) {
      if (!this.isWall(argument, marked)) continue;
      for (const { parameters } of functions.get(name) ?? []) {
        const parameter = parameters[index];
        if (takes(parameters, call) && TIME.test(parameter.name.getText())) marked.add(parameter);
      }
    }
  }

  property(name) {
    return `${this.name} ${name.text}`;
  }

  isWall(node, marked) {
    if (ts.isParenthesizedExpression(node)) return this.isWall(node.expression, marked);
    if (ts.isBinaryExpression(node) && node.operatorToken.kind === ts.SyntaxKind.QuestionQuestionToken)
      return this.isWall(node.left, marked) || this.isWall(node.right, marked);
    if (ts.isCallExpression(node)) return /(^Date\.now|\bclock\.nowMs)\(\)$/.test(node.getText());
    if (ts.isPropertyAccessExpression(node)) return STAMPS.has(node.name.text) || marked.has(this.property(node.name));
    return ts.isIdentifier(node) && (STAMPS.has(node.text) || marked.has(declarationOf(node)));
  }

  arithmetic(marked) {
    const found = this.nodes.filter(
      (node) =>
        ts.isBinaryExpression(node) &&
        ARITHMETIC.has(node.operatorToken.kind) &&
        (this.isWall(node.left, marked) || this.isWall(node.right, marked)),
    );
    return this.#linesOf(found, false);
  }

  /** Where the clock is used other than by a call, or a function that returns it is an argument. */
  passed() {
    const found = this.nodes.filter((node) => {
      const { parent } = node;
      if (ts.isPropertyAccessExpression(node))
        return node.getText() === 'Date.now' && !(ts.isCallExpression(parent) && parent.expression === node);
      if (!ts.isArrowFunction(node) || !this.isWall(node.body, new Set())) return false;
      return ts.isCallExpression(parent) || ts.isNewExpression(parent);
    });
    return this.#linesOf(found, true);
  }

  #linesOf(nodes, isPassed) {
    const lines = this.source.text.split('\n');
    const numbers = nodes.map((node) => this.source.getLineAndCharacterOfPosition(node.getStart()).line);
    return [...new Set(numbers)].map((number) => ({ file: this.name, line: lines[number].trim(), isPassed }));
  }
}

function takes(parameters, { arguments: given }) {
  const needed = parameters.filter(({ initializer, questionToken }) => !initializer && !questionToken).length;
  return given.length >= needed && given.length <= parameters.length;
}

/** A function's own name, or that of the variable or property whose value it is. */
function nameOf({ name, parent }) {
  return (name ?? parent?.name)?.text ?? null;
}

/** The parameter or variable that an identifier names, by the blocks around it; null if it is declared elsewhere. */
function declarationOf(identifier) {
  for (let scope = identifier.parent; scope; scope = scope.parent) {
    const declared = declarationsIn(scope).find(({ name }) => ts.isIdentifier(name) && name.text === identifier.text);
    if (declared) return declared;
  }
  return null;
}

function declarationsIn(scope) {
  if (ts.isFunctionLike(scope)) return scope.parameters ?? [];
  if (ts.isForOfStatement(scope) || ts.isForStatement(scope)) return scope.initializer?.declarations ?? [];
  if (!ts.isBlock(scope) && !ts.isSourceFile(scope) && !ts.isCaseClause(scope)) return [];
  return scope.statements.filter(ts.isVariableStatement).flatMap(({ declarationList }) => declarationList.declarations);
}

import { join } from 'node:path'
import {
  type BindingElement,
  type Node,
  type ParameterDeclaration,
  SyntaxKind,
  type VariableDeclaration,
} from 'typescript/unstable/ast'
import * as is from 'typescript/unstable/ast/is'
import { API } from 'typescript/unstable/sync'

/** Fields that hold sentences for people. Programs decide by codes and details. */
const textFields = new Set(['message', 'remedy'])

const textMethods = new Set([
  ...['replace', 'replaceAll', 'match', 'matchAll', 'search', 'includes', 'startsWith', 'endsWith', 'indexOf'],
  ...['lastIndexOf', 'split', 'slice', 'substring', 'substr', 'at', 'charAt'],
])

/** Every place in the files of a project that takes the text of a message apart, or decides by it. */
export function findMessageEdits(root: string, configFile: string): string[] {
  using api = openApi(root)
  const { program } = api.project(join(root, configFile))
  return program
    .getSourceFileNames()
    .filter(name => name.startsWith(join(root, 'src/')))
    .flatMap(name => {
      const file = program.getSourceFile(name)
      if (!file) return []
      const found: string[] = []
      walk(file, node => {
        if (!takesTextApart(node)) return
        const line = file.text.slice(0, node.getStart(file)).split('\n').length
        found.push(`${name.slice(root.length + 1)}:${line}: ${node.getText(file).split('\n')[0]}`)
      })
      return found
    })
}

function openApi(cwd: string) {
  const api = new API({ cwd })
  return {
    project: (configFile: string) => {
      const project = api.updateSnapshot({ openProjects: [configFile] }).getProject(configFile)
      if (!project) throw new Error(`${configFile} is not a project`)
      return project
    },
    [Symbol.dispose]: () => api.close(),
  }
}

function walk(node: Node, visit: (node: Node) => void): void {
  visit(node)
  node.forEachChild(child => walk(child, visit))
}

function takesTextApart(node: Node): boolean {
  if (is.isCallExpression(node) && is.isPropertyAccessExpression(node.expression)) {
    const { expression, name } = node.expression
    if (textMethods.has(name.text)) return isMessage(expression)
    return (name.text === 'test' || name.text === 'exec') && node.arguments.some(isMessage)
  }
  if (!is.isBinaryExpression(node)) return false
  const isComparison = [SyntaxKind.EqualsEqualsEqualsToken, SyntaxKind.ExclamationEqualsEqualsToken].includes(
    node.operatorToken.kind,
  )
  return (
    isComparison &&
    [
      [node.left, node.right],
      [node.right, node.left],
    ].some(([a, b]) => isMessage(a as Node) && isText(b as Node))
  )
}

function isText(node: Node): boolean {
  return is.isStringLiteral(node) && node.text !== ''
}

/** `error.message`, a name that was bound to one, and either of them with a default or after a method of strings. */
function isMessage(node: Node): boolean {
  if (is.isParenthesizedExpression(node) || is.isNonNullExpression(node) || is.isAsExpression(node))
    return isMessage(node.expression)
  if (is.isPropertyAccessExpression(node)) return textFields.has(node.name.text)
  if (is.isConditionalExpression(node)) return isMessage(node.whenTrue) || isMessage(node.whenFalse)
  if (is.isBinaryExpression(node)) return isMessage(node.left) || isMessage(node.right)
  if (is.isCallExpression(node))
    return is.isPropertyAccessExpression(node.expression) && isMessage(node.expression.expression)
  return is.isIdentifier(node) && isBoundToMessage(node)
}

/** By the nearest declaration of the name in the blocks and functions around. */
function isBoundToMessage(name: Node & { text: string }): boolean {
  for (let scope: Node | undefined = name.parent; scope; scope = scope.parent) {
    for (const declaration of declarationsIn(scope)) {
      if (!declaration.name || !is.isIdentifier(declaration.name) || declaration.name.text !== name.text) continue
      if (is.isVariableDeclaration(declaration))
        return declaration.initializer !== undefined && isMessage(declaration.initializer)
      const field = is.isBindingElement(declaration) ? (declaration.propertyName ?? declaration.name) : undefined
      return field !== undefined && is.isIdentifier(field) && textFields.has(field.text)
    }
  }
  return false
}

type Declaration = VariableDeclaration | BindingElement | ParameterDeclaration

function declarationsIn(scope: Node): Declaration[] {
  const found: Declaration[] = []
  const look = (node: Node): void => {
    if (is.isVariableDeclaration(node) || is.isBindingElement(node) || is.isParameterDeclaration(node)) found.push(node)
    if (!isScope(node)) node.forEachChild(look)
  }
  if (isScope(scope)) scope.forEachChild(look)
  return found
}

const scopeKinds = new Set<SyntaxKind>([
  SyntaxKind.SourceFile,
  SyntaxKind.Block,
  SyntaxKind.FunctionDeclaration,
  SyntaxKind.FunctionExpression,
  SyntaxKind.ArrowFunction,
  SyntaxKind.MethodDeclaration,
  SyntaxKind.Constructor,
])

function isScope(node: Node): boolean {
  return scopeKinds.has(node.kind)
}

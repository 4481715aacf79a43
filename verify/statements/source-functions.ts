// Finds the exported functions of src/db that take a connection to the database.
import { readdirSync, readFileSync } from 'node:fs'
import ts from 'typescript'

const FOLDER = new URL('../../src/db/', import.meta.url)

/** An exported function of src/db. */
export interface SourceFunction {
  readonly name: string
  /** From src/db, with forward slashes. */
  readonly file: string
  /** It returns a part of a statement, and sends nothing. */
  readonly isPart: boolean
  /** Its body contains an `sql` template. */
  readonly hasTemplate: boolean
}

/** All exported functions with a parameter through which they can send statements, by file and line. */
export function findDatabaseFunctions(): SourceFunction[] {
  return readdirSync(FOLDER, { recursive: true, encoding: 'utf8' })
    .map((name) => name.replaceAll('\\', '/'))
    .filter((name) => name.endsWith('.ts'))
    .toSorted()
    .flatMap(readFunctions)
}

function readFunctions(file: string): SourceFunction[] {
  const text = readFileSync(new URL(file, FOLDER), 'utf8')
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true)
  return source.statements
    .filter(isExported)
    .flatMap(declaredFunctions)
    .filter(({ declared }) => declared.parameters.some(isConnection))
    .map(({ name, declared }) => ({
      name,
      file,
      isPart: isPart(declared),
      hasTemplate: hasTemplate(declared),
    }))
}

function isExported(statement: ts.Statement): boolean {
  const modifiers = ts.canHaveModifiers(statement) ? (ts.getModifiers(statement) ?? []) : []
  return modifiers.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword)
}

interface Declaration {
  readonly name: string
  readonly declared: ts.FunctionDeclaration | ts.ArrowFunction
}

function declaredFunctions(statement: ts.Statement): Declaration[] {
  if (ts.isFunctionDeclaration(statement)) {
    const name = statement.name?.text ?? ''
    return [{ name, declared: statement }]
  }
  if (!ts.isVariableStatement(statement)) return []
  return statement.declarationList.declarations.flatMap(({ name, initializer }) =>
    initializer !== undefined && ts.isArrowFunction(initializer)
      ? [{ name: name.getText(), declared: initializer }]
      : [],
  )
}

const CONNECTION = /\b(Sql|Transaction|Store)\b/
const PART = /^(Fragment|List)\b/

function isConnection({ type }: ts.ParameterDeclaration): boolean {
  return CONNECTION.test(type?.getText() ?? '')
}

/** An arrow function without a return type whose body is a template returns a part, too. */
function isPart({ type, body }: Declaration['declared']): boolean {
  if (type !== undefined) return PART.test(type.getText())
  return body !== undefined && ts.isTaggedTemplateExpression(body)
}

function hasTemplate(node: ts.Node): boolean {
  return ts.isTaggedTemplateExpression(node) || ts.forEachChild(node, hasTemplate) === true
}

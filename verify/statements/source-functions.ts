// Finds the exported functions of src that take a connection to the database, and its statements.
import { readdirSync, readFileSync } from 'node:fs'
import ts from 'typescript'

const FOLDER = new URL('../../src/', import.meta.url)

/** An exported function of src. */
export interface SourceFunction {
  readonly name: string
  /** From src, with forward slashes. */
  readonly file: string
  /** It returns a part of a statement, and sends nothing. */
  readonly isPart: boolean
  /** Its body contains an `sql` template. */
  readonly hasTemplate: boolean
}

/** All exported functions that can send statements, by file and line. */
export function findDatabaseFunctions(): SourceFunction[] {
  return readSources().flatMap(readFunctions)
}

/** A statement in src, or a part that begins like one. */
export interface SourceStatement {
  /** From src, with forward slashes. */
  readonly file: string
  /** As far as the first value. */
  readonly beginning: string
}

const STATEMENT = /^\s*(?:--.*\s*)*(?:with|select|insert|update|delete)\b/

/** All statements in templates, by file and line. */
export function findSourceStatements(): SourceStatement[] {
  return readSources().flatMap((source) =>
    templatesIn(source)
      .map(({ template }) => ('head' in template ? template.head.text : template.text))
      .filter((beginning) => STATEMENT.test(beginning))
      .map((beginning) => ({ file: source.fileName, beginning })),
  )
}

function templatesIn(node: ts.Node): ts.TaggedTemplateExpression[] {
  const found = ts.isTaggedTemplateExpression(node) ? [node] : []
  ts.forEachChild(node, (child) => void found.push(...templatesIn(child)))
  return found
}

function readSources(): ts.SourceFile[] {
  return readdirSync(FOLDER, { recursive: true, encoding: 'utf8' })
    .map((name) => name.replaceAll('\\', '/'))
    .filter((name) => name.endsWith('.ts'))
    .toSorted()
    .map((file) => {
      const text = readFileSync(new URL(file, FOLDER), 'utf8')
      return ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true)
    })
}

function readFunctions(source: ts.SourceFile): SourceFunction[] {
  return source.statements
    .filter(isExported)
    .flatMap(declaredFunctions)
    .filter(({ type, declared }) => WRITES.test(type) || declared.parameters.some(isConnection))
    .map(({ name, declared }) => ({
      name,
      file: source.fileName,
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
  /** Of the constant, or of what the function returns. */
  readonly type: string
  readonly declared: ts.FunctionDeclaration | ts.ArrowFunction
}

function declaredFunctions(statement: ts.Statement): Declaration[] {
  if (ts.isFunctionDeclaration(statement)) {
    const name = statement.name?.text ?? ''
    return [{ name, type: textOf(statement.type), declared: statement }]
  }
  if (!ts.isVariableStatement(statement)) return []
  return statement.declarationList.declarations.flatMap(({ name, type, initializer }) =>
    initializer !== undefined && ts.isArrowFunction(initializer)
      ? [{ name: name.getText(), type: textOf(type ?? initializer.type), declared: initializer }]
      : [],
  )
}

const CONNECTION = /\b(Sql|Transaction|Store)\b/
/** It gets its connection later. */
const WRITES = /^WriteResources$/
const PART = /^(Fragment|List)\b/

const textOf = (type: ts.TypeNode | undefined): string => type?.getText() ?? ''

function isConnection({ type }: ts.ParameterDeclaration): boolean {
  return CONNECTION.test(textOf(type))
}

/** An arrow function without a return type whose body is a template returns a part, too. */
function isPart({ type, body }: Declaration['declared']): boolean {
  if (type !== undefined) return PART.test(type.getText())
  return body !== undefined && ts.isTaggedTemplateExpression(body)
}

function hasTemplate(node: ts.Node): boolean {
  return ts.isTaggedTemplateExpression(node) || ts.forEachChild(node, hasTemplate) === true
}

// The SQL functions and operators that the product's statements use.
import { DIVISION_BY_ZERO, isObject, postgresError, toText, type Value } from '../store/rows.ts'
import { compare } from './compare.ts'
import { UnknownSqlError } from './syntax.ts'

type Call = (...parts: Value[]) => Value

/** Functions of values only; `evaluate.ts` has those that need the store. */
const functions: Readonly<Record<string, Call>> = {
  now: () => 0,
  greatest: (...parts) => Math.max(...parts.filter((part) => part !== null).map(Number)),
  least: (...parts) => Math.min(...parts.filter((part) => part !== null).map(Number)),
  num_nonnulls: (...parts) => parts.filter((part) => part !== null).length,
  length: (part = null) => (part === null ? null : lengthOf(part)),
}

/** Functions that turn many rows into one value. */
export const AGGREGATES = new Set(['min', 'max'])

export function callFunction(name: string, parts: Value[]): Value {
  const call = functions[name]
  if (call === undefined) throw new UnknownSqlError(`unknown function ${name}`)
  return call(...parts)
}

export function aggregate(name: string, values: readonly Value[]): Value {
  const numbers = values.filter((value) => value !== null).map(Number)
  if (numbers.length === 0) return null
  return name === 'min' ? Math.min(...numbers) : Math.max(...numbers)
}

function withoutMember(members: Readonly<Record<string, Value>>, name: string): Value {
  return Object.fromEntries(Object.entries(members).filter(([own]) => own !== name))
}

/** Of bytes, their number. */
function lengthOf(part: Value): number {
  const text = toText(part)
  return text.startsWith('\\x') ? text.length / 2 - 1 : text.length
}

const comparisons: Readonly<Record<string, (order: number) => boolean>> = {
  '=': (order) => order === 0,
  '<>': (order) => order !== 0,
  '<': (order) => order < 0,
  '>': (order) => order > 0,
  '<=': (order) => order <= 0,
  '>=': (order) => order >= 0,
}

const operators: Readonly<Record<string, (left: Value, right: Value) => Value>> = {
  '+': (left, right) => Number(left) + Number(right),
  '-': (left, right) =>
    isObject(left) ? withoutMember(left, toText(right)) : Number(left) - Number(right),
  '*': (left, right) => Number(left) * Number(right),
  '/': divide,
  '||': (left, right) => `${toText(left)}${toText(right)}`,
  '->>': (left, right) => (isObject(left) ? textOf(left[toText(right)] ?? null) : null),
  '?': (left, right) => isObject(left) && Object.hasOwn(left, toText(right)),
}

/** @throws UnknownSqlError for an operator that is not implemented. */
export function operate(operator: string, left: Value, right: Value): Value {
  const holds = comparisons[operator]
  if (holds !== undefined) {
    const order = compare(left, right)
    return order === undefined ? null : holds(order)
  }
  const operation = operators[operator]
  if (operation === undefined) throw new UnknownSqlError(`unknown operator ${operator}`)
  return left === null || right === null ? null : operation(left, right)
}

/** Integer division: all numbers of the product are integers. */
function divide(left: Value, right: Value): Value {
  if (right === 0) throw postgresError(DIVISION_BY_ZERO, 'division by zero')
  return Math.trunc(Number(left) / Number(right))
}

const textOf = (value: Value): Value =>
  value === null || typeof value === 'string' ? value : JSON.stringify(value)

export const listOf = (value: Value): readonly Value[] => (Array.isArray(value) ? value : [])

const NUMBERS = new Set(['integer', 'bigint', 'smallint', 'int4', 'int8', 'float8'])

export function cast(value: Value, to: string): Value {
  if (value === null) return null
  if (to.endsWith('[]')) return typeof value === 'string' ? arrayOf(value) : value
  if (NUMBERS.has(to)) return Number(value)
  if (to === 'boolean' || to === 'bool') return value === true || value === 'true'
  if (to === 'jsonb') return typeof value === 'string' ? (JSON.parse(value) as Value) : value
  if (to === 'timestamptz') return typeof value === 'string' ? timestampOf(value) : value
  if (to === 'text') return textOf(value)
  return value
}

/** An array literal, as constraints contain them. */
function arrayOf(text: string): Value {
  return text.slice(1, -1).split(',')
}

function timestampOf(text: string): number {
  if (text === '-infinity') return -1e12
  const seconds = Number(text)
  return Number.isNaN(seconds) ? Date.parse(text) / 1_000 : seconds
}

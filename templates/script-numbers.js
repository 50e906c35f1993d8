/* Numbers as text, exactly as src/report/text/numbers.c writes them. Times are whole nanoseconds. */

const SPACE = '\u00a0';
const MINUS = '\u2212';
const UNITS = [['ns', 1], ['\u00b5s', 1e3], ['ms', 1e6], ['s', 1e9]];

const rounded = (magnitude, divisor) => {
  const rest = magnitude % divisor;
  return (magnitude - rest) / divisor + (rest >= divisor - Math.floor(divisor / 2) ? 1 : 0);
};

/* value / one with so many decimals; one is a power of ten. */
const formatFixed = (value, one, decimals) => {
  const scale = Math.pow(10, decimals);
  const units = rounded(Math.abs(value), one / scale);
  const whole = String(Math.floor(units / scale)).replace(/\B(?=(\d{3})+$)/g, ',');
  const sign = value < 0 && units > 0 ? MINUS : '';
  return sign + whole + (decimals > 0 ? '.' + String(units % scale).padStart(decimals, '0') : '');
};

const unitOf = (magnitude) => UNITS.reduce((chosen, unit, i) =>
  (i > 0 && magnitude >= unit[1] - Math.floor(UNITS[i - 1][1] / 2) ? unit : chosen), UNITS[0]);

/* Three significant digits. */
const formatTime = (value) => {
  const [name, one] = unitOf(Math.abs(value));
  const magnitude = Math.max(Math.abs(value), one === 1 ? 0 : one);
  let decimals = one === 1 ? 0 : 2;
  while (decimals > 0 && rounded(magnitude, one / Math.pow(10, decimals)) >= 1000) {
    decimals--;
  }
  return (value < 0 ? MINUS : '') + formatFixed(magnitude, one, decimals) + SPACE + name;
};

/* A point in time, with as many digits as it takes to see a hundredth of the distance to another one. */
const formatMoment = (value, distance) => {
  const [name, one] = unitOf(Math.abs(value));
  let decimals = 0;
  while (one / Math.pow(10, decimals) > Math.max(1, distance / 100)) {
    decimals++;
  }
  return formatFixed(value, one, decimals) + SPACE + name;
};

/* The label of an axis whose ticks are so far apart. */
const formatTick = (value, distance) => {
  let [name, one] = UNITS[0];
  for (const unit of UNITS) {
    [name, one] = distance >= unit[1] ? unit : [name, one];
  }
  return formatFixed(value, one, 0) + (value === 0 ? '' : SPACE + name);
};

const formatCount = (value) => formatFixed(value, 1, 0);

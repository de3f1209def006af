# Multiplies two matrices and checks the product. Without credentials in a release that needs them: checks that it is ready and
# rejects the request.
set -eu

get() { curl --silent --show-error --max-time 60 "$@"; }

echo "GET $URL/readyz"
[ "$(get -o /dev/null -w '%{http_code}' "$URL/readyz")" = 200 ] || { echo "The service is not ready."; exit 1; }

product='{"inputs": {"a": {"dtype": "f32", "shape": [2, 2], "data": [1, 2, 3, 4]},
                     "b": {"dtype": "f32", "shape": [2, 2], "data": [5, 6, 7, 8]}}}'
echo "POST $URL/ops/matmul"
answer=$(get -w '\n%{http_code}' "$URL/ops/matmul" -H 'Content-Type: application/json' \
  ${CREDENTIALS:+-H "Authorization: Bearer $CREDENTIALS"} -d "$product")
echo "$answer"

if [ "$MODE" = none ] || [ -n "${CREDENTIALS:-}" ]; then
  case $answer in
    *'"data":[19.0,22.0,43.0,50.0]'*) echo "The product is right." ;;
    *) echo "The answer is not the product [19.0, 22.0, 43.0, 50.0]."; exit 1 ;;
  esac
else
  case $answer in
    *401) echo "A caller without credentials is rejected. Set test.credentialsSecret to test a product." ;;
    *) echo "A caller without credentials must be answered with 401."; exit 1 ;;
  esac
fi

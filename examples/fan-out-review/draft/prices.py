PRICES = {
	"tea": 3,
    "cake": 4,
}
